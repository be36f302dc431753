import { describe, expect, it } from 'vitest';
import type { JsonObject } from '#contracts';
import { assertObjectSize, changedFields, storedBytes, touched } from './stored-object.js';

const EARLIER = new Date('2026-01-01T00:00:00.000Z');
const NOW = new Date('2026-01-02T00:00:00.000Z');

describe('touched', () => {
  it('increases with every change, even where the clock goes back', () => {
    expect(touched({ updatedAt: EARLIER }, NOW).updatedAt).toEqual(NOW);
    expect(touched({ updatedAt: NOW }, NOW).updatedAt.getTime()).toBe(NOW.getTime() + 1);
    expect(touched({ updatedAt: NOW }, EARLIER).updatedAt.getTime()).toBe(NOW.getTime() + 1);
  });
});

describe('assertObjectSize', () => {
  it('counts bytes, not characters', () => {
    expect(() => {
      assertObjectSize({ a: 'x'.repeat(20) }, 30);
    }).not.toThrow();
    expect(() => {
      assertObjectSize({ a: 'ä'.repeat(20) }, 30);
    }).toThrow(expect.objectContaining({ errorName: 'OBJECT_TOO_LARGE' }) as Error);
  });
});

describe('storedBytes', () => {
  it.each<[JsonObject, number]>([
    [{ a: [1e308, -5e-324, 1.5e21] }, '{"a":[1e+308,-5e-324,1.5e+21]}'.length + 308 + 324 + 21],
    [{ a: '1e+300', b: 10 }, '{"a":"1e+300","b":10}'.length],
  ])('counts the digits of %j in PostgreSQL', (value, bytes) => {
    expect(storedBytes(value)).toBe(bytes);
  });
});

describe('changedFields', () => {
  it('returns the named fields that still exist, with id and time', () => {
    const whole = { objectId: 'a', updatedAt: 'now', color: 'red', size: 1 };
    expect(changedFields(whole, ['color', 'gone'])).toEqual({ objectId: 'a', updatedAt: 'now', color: 'red' });
  });
});
