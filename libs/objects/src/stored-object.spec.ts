import { describe, expect, it } from 'vitest';
import { assertObjectSize, changedFields, touched } from './stored-object.js';

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

describe('changedFields', () => {
  it('returns the named fields that still exist, with id and time', () => {
    const whole = { objectId: 'a', updatedAt: 'now', color: 'red', size: 1 };
    expect(changedFields(whole, ['color', 'gone'])).toEqual({ objectId: 'a', updatedAt: 'now', color: 'red' });
  });
});
