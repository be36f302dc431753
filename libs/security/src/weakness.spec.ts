import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { weaknessOf } from './sealer.js';

const weakness = (secret: string) => weaknessOf({ reveal: () => secret });

describe('a secret', () => {
  it('a random secret has no weakness', () => {
    for (let round = 0; round < 200; round += 1) {
      expect(weakness(randomBytes(32).toString('hex'))).toBeUndefined();
      expect(weakness(randomBytes(32).toString('base64url'))).toBeUndefined();
    }
  });

  it.each([
    ['0'.repeat(32), /few/],
    ['0123456789'.repeat(4), /repeats/],
    ['my very secret secret of the shop, 1', /words/],
    ['change-me-change-this-before-you-start', /words/],
  ])('can be guessed: %s', (secret, reason) => {
    expect(weakness(secret)).toMatch(reason);
  });
});
