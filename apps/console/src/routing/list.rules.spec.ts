import { describe, expect, it } from 'vitest';
import { pageOf, readCursor } from './list.rules.js';

describe('a cursor', () => {
  const at = '2026-01-01T00:00:00.000Z';
  const id = '00000000-0000-4000-8000-000000000000';

  it('names the last item of the page before', () => {
    const { items, next } = pageOf([1, 2, 3], 2, (item) => ({ at, id: `id-${item}` }));
    expect(items).toEqual([1, 2]);
    expect(readCursor(next ?? '')).toEqual({ at, id: 'id-2' });
  });

  it('is absent where no page follows', () => {
    expect(pageOf([1, 2], 2, () => ({ at, id }))).toEqual({ items: [1, 2], next: null });
  });

  it.each(['', at, `2024-99-99T99:99:99.999Z,${id}`, `${at},`, `${at},a b`, `${at},${id},x`])('%j is none', (text) => {
    expect(() => readCursor(text)).toThrow('after must be the value of next in an earlier page.');
  });

  it('has an id of the given form', () => {
    expect(() => readCursor(`${at},${id}`, /^[0-9]+$/)).toThrow('after must be the value of next in an earlier page.');
  });
});
