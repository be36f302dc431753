import { describe, expect, it } from 'vitest';
import { byApplication, storedErrorText, retryDelaySeconds } from './delivery.rules.js';

describe('retryDelaySeconds', () => {
  it('grows to a quarter of an hour', () => {
    expect([0, 1, 2, 3, 4, 5, 100].map(retryDelaySeconds)).toEqual([5, 30, 120, 300, 900, 900, 900]);
  });
});

describe('storedErrorText', () => {
  it.each([
    ['550 no such user', '550 no such user'],
    ['spam: https://a.example/?a=1&token=abc123, sorry', 'spam: https://a.example/?a=1&token=…, sorry'],
    ['spam: https://a.example/invitation#abc_1-2, sorry', 'spam: https://a.example/invitation#…, sorry'],
    ['?TOKEN=abc', '?TOKEN=…'],
    ['two\r\nlines\u0000 and a bell\u0007', 'two lines and a bell'],
  ])('keeps %j as %j', (message, kept) => {
    expect(storedErrorText(message)).toBe(kept);
  });

  it('keeps 500 characters at most', () => {
    expect(storedErrorText('x'.repeat(1_000))).toHaveLength(500);
    // PostgreSQL rejects a lone surrogate.
    expect(storedErrorText(`${'x'.repeat(499)}😀`).isWellFormed()).toBe(true);
  });
});

describe('byApplication', () => {
  it('groups rows in the order of the applications, each in its own order', () => {
    const rows = ['b1', 'a1', 'b2', 'a2'].map((id) => ({ id, appId: id.charAt(0) }));
    const groups = byApplication(rows).map(([appId, group]) => [appId, group.map(({ id }) => id)]);
    expect(groups).toEqual([
      ['a', ['a1', 'a2']],
      ['b', ['b1', 'b2']],
    ]);
  });
});
