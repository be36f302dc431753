import { describe, expect, it } from 'vitest';
import { CompiledTemplate } from './compiled-template.js';

const VARIABLES = { appname: 'Shop', email: 'ada@example.com', username: 'ada', link: 'https://shop.example/?token=x' };
const TEMPLATE = {
  subject: '{{appname}}: {{username}}',
  html: '<a href="{{link}}">{{username}}</a>',
  text: '{{username}}: {{link}}',
};

const render = (template: Partial<typeof TEMPLATE>, variables: Partial<typeof VARIABLES> = {}) =>
  CompiledTemplate.compile({ ...TEMPLATE, ...template }).render({ ...VARIABLES, ...variables });

describe('a rendered mail', () => {
  it('contains its variables in each part', () => {
    expect(render({})).toEqual({
      subject: 'Shop: ada',
      html: '<a href="https://shop.example/?token&#x3D;x">ada</a>',
      text: 'ada: https://shop.example/?token=x',
    });
  });

  it.each(['<script>alert(1)</script>', '"><img src=x onerror=alert(1)>', "' onclick='x", '</a>', '&lt;'])(
    'a name such as %j is escaped in HTML and unchanged in text',
    (username) => {
      const { html, subject, text } = render({}, { username });
      const inside = /^<a href="https:\/\/shop\.example\/\?token&#x3D;x">([^<>"']*)<\/a>$/.exec(html)?.[1];
      expect(inside).toBeDefined();
      expect(inside).not.toBe(username);
      expect([subject, text]).toEqual([`Shop: ${username}`, `${username}: https://shop.example/?token=x`]);
    },
  );

  it.each([
    'https://shop.example/"onmouseover="alert(1)',
    "https://shop.example/?a='><script>",
    'https://shop.example/?`',
  ])('the link %s does not end its attribute, whatever quotes are around it', (link) => {
    for (const quote of ['"', "'", '']) {
      const { html } = render({ html: `<a href=${quote}{{link}}${quote}>x</a>` }, { link });
      expect(html.slice('<a href='.length + quote.length, -`${quote}>x</a>`.length)).toMatch(/^[^\s"'`<>=]+$/);
    }
  });

  it.each(['appname', 'email', 'username'] as const)('a subject is one line, whatever %s is', (name) => {
    const { subject } = render({ subject: `{{${name}}}` }, { [name]: 'x\r\nBcc: a@b.example\u0000\u2028y' });
    // A username gets zero-width spaces, so that mail programs do not link it.
    expect(subject.replaceAll('\u200b', '')).toBe('x Bcc: a@b.example y');
  });

  it('a subject is one line, whatever the template is', () => {
    expect(render({ subject: 'Hello\r\nBcc: a@b.example' }).subject).toBe('Hello Bcc: a@b.example');
  });

  it('a name that looks like a template is not rendered', () => {
    expect(render({}, { username: '{{link}}{{#if' }).text).toMatch(/^\{\{link\}\}\{\{#if: /);
  });

  it('blocks follow the variables', () => {
    const text = '{{#if username}}Dear {{username}}{{else}}Hello{{/if}}{{#with email}}, {{this}} {{../link}}{{/with}}';
    expect(render({ text }).text).toBe('Dear ada, ada@example.com https://shop.example/?token=x');
    expect(render({ text }, { username: '' }).text).toMatch(/^Hello, ada@/);
  });

  it('is bounded, whatever the variables are', () => {
    const html = '{{link}}'.repeat(450);
    const link = `https://shop.example/${'='.repeat(4_000)}`;
    expect(() => render({ html }, { link })).toThrow(/^html: it renders to more than/);
    expect(render({}, { email: 'x'.repeat(1_000_000), username: 'x'.repeat(1_000_000) }).html.length).toBeLessThan(
      1_000,
    );
  });

  it.each(['html', 'text'] as const)('must contain the link in %s', (part) => {
    expect(() => render({ [part]: 'Hello {{username}}' })).toThrow(`${part}: it must contain {{link}}`);
  });
});
