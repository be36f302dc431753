import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { nobodysId } from './nobody.rules.js';

describe('the id of a name that nobody has', () => {
  const idOf = (name: string) => nobodysId(createHash('sha256').update(name).digest());

  it('is one of 65,536, the same for the same name, and none of a user', () => {
    expect(idOf('a')).toBe(idOf('a'));
    expect(new Set(Array.from({ length: 1_000 }, (_, index) => idOf(String(index)))).size).toBeGreaterThan(950);
    expect([nobodysId(Buffer.from([0, 0])), nobodysId(Buffer.from([255, 255, 9]))]).toEqual(['~0', '~65535']);
  });
});
