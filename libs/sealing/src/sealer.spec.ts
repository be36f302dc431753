import { describe, expect, it } from 'vitest';
import { Sealer } from './sealer.js';

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

  it('finds a secret by a hash that is its own', () => {
    expect(sealer.lookupHash('token')).toEqual(sealer.lookupHash('token'));
    expect(sealer.lookupHash('token')).not.toEqual(sealer.lookupHash('Token'));
    expect(sealer.lookupHash('token')).not.toEqual(other.lookupHash('token'));
    expect(sealer.lookupHash('token').toString('utf8')).not.toContain('token');
  });
});
