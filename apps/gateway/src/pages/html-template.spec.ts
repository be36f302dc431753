import { describe, expect, it } from 'vitest';
import { compileTemplate } from './page-template.js';

describe('compileTemplate', () => {
  it('escapes values in text and in attributes', () => {
    const hostile = `<script>alert("1" & '2')</script>`;
    const escaped = '&lt;script&gt;alert(&quot;1&quot; &amp; &#x27;2&#x27;)&lt;/script&gt;';
    const render = compileTemplate('<a title="{{text}}">{{text}}</a>');
    expect(render({ text: hostile })).toBe(`<a title="${escaped}">${escaped}</a>`);
  });

  it('throws for a value that the view does not have', () => {
    const render = compileTemplate('{{title}}');
    expect(() => render({})).toThrow('"title" not defined');
  });

  it('reads no value from a prototype', () => {
    expect(compileTemplate('{{constructor}}{{__proto__}}')({})).toBe('');
  });
});
