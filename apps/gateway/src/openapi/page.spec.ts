import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { contentSecurityPolicy } from '../html/html-template.js';
import { openApiDocument } from './document.js';
import { renderPage } from './page.js';
import { STYLE } from './page.template.js';
import type { RoutedEndpoint } from './routed-endpoints.js';

const HOSTILE = `"><script>alert('x')</script>`;

const endpoint: RoutedEndpoint = {
  id: 'thingsChange',
  method: 'PUT',
  paths: ['/1.1/things/{objectId}', '/1.1/classes/Thing/{objectId}'],
  topic: 'Users',
  summary: HOSTILE,
  description: HOSTILE,
  credentials: 'session or master key',
  query: z.object({ new: z.string().optional().describe(HOSTILE) }),
  body: z.looseObject({ [HOSTILE]: z.string().describe(HOSTILE) }),
  answers: { 200: { description: HOSTILE, body: z.object({ a: z.literal(HOSTILE) }), headers: { Location: HOSTILE } } },
  errors: ['USER_NOT_FOUND', 'SESSION_REQUIRED'],
};
const page = renderPage(openApiDocument([endpoint], `https://example.com/${HOSTILE}`));

describe('the page', () => {
  it('escapes every text of the document', () => {
    expect(page).not.toContain('<script');
    expect(page).toContain('&lt;script&gt;');
  });

  it('loads nothing: no script, no source, no address but its own anchors and the document', () => {
    expect(page).not.toMatch(/<(?:script|link|img|iframe|object|embed|form)\b|\ssrc=|@import|url\(|\son\w+=|\sstyle=/i);
    const targets = [...page.matchAll(/href="([^"]*)"/g)].map(([, target = '']) => target);
    expect(targets.filter((target) => !target.startsWith('#'))).toEqual(['/openapi.json']);
  });

  it('has one style, which the policy allows by its hash', () => {
    const [, style = ''] = /<style>([^]*?)<\/style>/.exec(page) ?? [];
    expect(contentSecurityPolicy(STYLE, "'none'")).toContain(
      `'sha256-${createHash('sha256').update(style).digest('base64')}'`,
    );
    expect(page.match(/<style/g)).toHaveLength(1);
  });

  it('leads from every link to a place that is there once', () => {
    const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const [, anchor] of page.matchAll(/href="#([^"]*)"/g)) expect(ids).toContain(anchor);
  });

  it('shows a route once with its other paths, its credentials, and its codes with their texts', () => {
    expect(page.match(/<article id="thingsChange"/g)).toHaveLength(1);
    expect(page.replaceAll('<wbr>', '')).toContain('<code>/1.1/classes/Thing/{objectId}</code>');
    expect(page).toContain('application key and session, or master key');
    expect(page).toContain('Could not find user.');
    expect(page).toMatch(/common errors<\/a> with 401, 413, 429, 431, 500, 503/);
  });
});
