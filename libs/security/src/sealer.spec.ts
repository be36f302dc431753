import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { randomDigits, Sealer } from './sealer.js';

const sealer = new Sealer('the secret of one deployment, 32+');
const other = new Sealer('the secret of another deployment!');

describe('a Sealer', () => {
  it.each(['', 'token', 'ä😀\0', 'x'.repeat(10_000)])('opens what it sealed: %.20j', (plain) => {
    expect(sealer.open(sealer.seal(plain, 'here'), 'here')).toBe(plain);
  });

  it('seals the same text differently each time, and hides it', () => {
    const [one, two] = [sealer.seal('visible?', 'here'), sealer.seal('visible?', 'here')];
    expect(one).not.toBe(two);
    expect(Buffer.from(one.split('.')[2] ?? '', 'base64url').toString('latin1')).not.toContain('visible?');
  });

  it('opens nothing in another context, and nothing of another secret', () => {
    const sealed = sealer.seal('token', 'session token of a');
    expect(() => sealer.open(sealed, 'session token of b')).toThrow();
    expect(() => other.open(sealed, 'session token of a')).toThrow(/another GATEPOST_SECRET/);
  });

  it('opens nothing that was changed', () => {
    const [version = '', key = '', body = ''] = sealer.seal('token', 'here').split('.');
    const bytes = Buffer.from(body, 'base64url');
    for (const index of [0, 12, bytes.length - 1]) {
      const changed = Buffer.from(bytes);
      changed[index] = changed[index]! ^ 1;
      expect(() => sealer.open([version, key, changed.toString('base64url')].join('.'), 'here')).toThrow();
    }
    for (const text of ['', 'token', 's2.x.y', `${version}.${key}.`]) expect(() => sealer.open(text, 'here')).toThrow();
  });

  it('finds a secret by its lookup hash', () => {
    expect(sealer.lookupHash('token')).toEqual(sealer.lookupHash('token'));
    expect(sealer.lookupHash('token')).not.toEqual(sealer.lookupHash('Token'));
    expect(sealer.lookupHash('token')).not.toEqual(other.lookupHash('token'));
    expect(sealer.lookupHash('token').toString('utf8')).not.toContain('token');
  });

  describe('that holds an accepted secret', () => {
    const [before, after] = ['the secret of one deployment, 32+', 'the secret that shall follow it, 32+'];
    const preparing = new Sealer(before, [after]);
    const swapped = new Sealer(after, [before]);

    it('opens what was sealed with any of its secrets, and seals with the first', () => {
      expect(swapped.open(sealer.seal('token', 'here'), 'here')).toBe('token');
      expect(preparing.open(swapped.seal('token', 'here'), 'here')).toBe('token');
      expect(new Sealer(after).open(swapped.seal('token', 'here'), 'here')).toBe('token');
      expect(() => sealer.open(swapped.seal('token', 'here'), 'here')).toThrow(/another GATEPOST_SECRET/);
      expect(() => swapped.open(sealer.seal('token', 'here'), 'elsewhere')).toThrow();
    });

    it('names its keys by ids, and recognises outdated values', () => {
      expect([swapped.keyId, ...swapped.acceptedKeyIds]).toEqual([new Sealer(after).keyId, sealer.keyId]);
      expect(new Sealer(before, [before]).acceptedKeyIds).toEqual([]);
      expect(swapped.isOutdated(sealer.seal('token', 'here'))).toBe(true);
      expect(swapped.isOutdated(swapped.seal('token', 'here'))).toBe(false);
      expect(swapped.isOutdated(other.seal('token', 'here'))).toBe(false);
    });

    it('recognises hashes made with any of its secrets, and no others', () => {
      expect(swapped.lookupHashes('token')).toEqual([
        new Sealer(after).lookupHash('token'),
        sealer.lookupHash('token'),
      ]);
      expect(swapped.isHashOf('token', sealer.lookupHash('token'))).toBe(true);
      expect(swapped.isHashOf('token', swapped.lookupHash('token').subarray(0, 16))).toBe(true);
      expect(swapped.isHashOf('Token', sealer.lookupHash('token'))).toBe(false);
      expect(swapped.isHashOf('token', other.lookupHash('token'))).toBe(false);
    });
  });
});

describe('a secret', () => {
  it('a random secret has no weakness', () => {
    for (let round = 0; round < 200; round += 1) {
      expect(new Sealer(randomBytes(32).toString('hex')).weakness).toBeNull();
      expect(new Sealer(randomBytes(32).toString('base64url')).weakness).toBeNull();
    }
  });

  it.each([
    ['0'.repeat(32), /few/],
    ['0123456789'.repeat(4), /repeats/],
    ['my very secret secret of the shop, 1', /words/],
    ['change-me-change-this-before-you-start', /words/],
  ])('can be guessed: %s', (secret, reason) => {
    expect(new Sealer(secret).weakness).toMatch(reason);
  });
});

describe('random digits', () => {
  it.each([
    [10, /^[0-9]{24}$/],
    [36, /^[0-9a-z]{24}$/],
    [62, /^[0-9a-zA-Z]{24}$/],
  ] as const)('of base %i have all of its digits, and no other ones', (base, form) => {
    const made = Array.from({ length: 1_000 }, () => randomDigits(24, base));
    for (const text of made) expect(text).toMatch(form);
    expect(new Set(made.join('')).size).toBe(base);
    expect(new Set(made).size).toBe(made.length);
  });
});
