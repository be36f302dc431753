import { describe, expect, it } from 'vitest';
import { markup, prose } from './markup.js';

describe('markup', () => {
  it('escapes what is put in, in text and in attributes', () => {
    const hostile = `<script>alert("1" & '2')</script>`;
    expect(markup`<a title="${hostile}">${hostile}</a>`.text).toBe(
      '<a title="&lt;script&gt;alert(&quot;1&quot; &amp; &#39;2&#39;)&lt;/script&gt;">&lt;script&gt;alert(&quot;1&quot; &amp; &#39;2&#39;)&lt;/script&gt;</a>',
    );
  });

  it('takes markup, lists, numbers and nothing', () => {
    expect(markup`${markup`<b>${1}</b>`}${[markup`<i></i>`, '<']}${undefined}`.text).toBe('<b>1</b><i></i>&lt;');
  });

  it('sets code between backticks, escaped like the rest', () => {
    expect(markup`${prose('send `<id>` & go')}`.text).toBe('send <code>&lt;id&gt;</code> &amp; go');
  });
});
