import { describe, expect, it } from 'vitest';
import type { ImportedObject } from '#contracts';
import { ClaimIndex, ExportedObjects } from './claim-index.js';

const TIME = '2020-01-01T00:00:00.000Z';
const LATER = '2021-01-01T00:00:00.000Z';
const LATEST = '2022-01-01T00:00:00.000Z';

const user = (objectId: string, more: Partial<ImportedObject> = {}): ImportedObject => ({
  ...{ objectId, createdAt: TIME, updatedAt: TIME, acl: null, columns: {}, fields: {}, ...more },
});
const stored = (objectId: string, claims: string[], more: Partial<ImportedObject> = {}) => ({
  object: user(objectId, more),
  claims,
});

describe('the claims of a preview', () => {
  it('belong to the object that was stored last', () => {
    const index = new ClaimIndex();
    index.store([stored('a', ['email x', 'username a']), stored('b', ['username b'])], []);
    expect(['email x', 'username a', 'username b', 'email y'].map((claim) => index.owner(claim))).toEqual([
      ...['a', 'a', 'b'],
      undefined,
    ]);
    expect([index.has('a'), index.has('c'), index.has('')]).toEqual([true, false, false]);
  });

  it('are free once a newer version of their object lacks them', () => {
    const index = new ClaimIndex();
    index.store([stored('a', ['email x', 'username a'])], []);
    index.store([stored('a', ['email y', 'username a'], { updatedAt: LATER })], []);
    expect([index.owner('email x'), index.owner('email y')]).toEqual([null, 'a']);
    index.store([stored('b', ['email x'])], []);
    expect(index.owner('email x')).toBe('b');
  });

  it('can move within one batch, and in a ring', () => {
    const index = new ClaimIndex();
    index.store([stored('a', ['n 1']), stored('b', ['n 2']), stored('c', ['n 3'])], []);
    const later = { updatedAt: LATER };
    index.store([stored('a', ['n 2'], later), stored('b', ['n 3'], later), stored('c', ['n 1'], later)], []);
    expect(['n 1', 'n 2', 'n 3'].map((claim) => index.owner(claim))).toEqual(['c', 'a', 'b']);
  });

  it('keep the session token of an object whose newer version has none', () => {
    const index = new ClaimIndex();
    index.store([stored('a', ['sessionToken t', 'email x'], { sessionToken: 't' })], []);
    index.store([stored('a', [], { updatedAt: LATER })], []);
    expect([index.owner('sessionToken t'), index.owner('email x')]).toEqual(['a', null]);
    index.store([stored('a', ['sessionToken u'], { sessionToken: 'u', updatedAt: LATEST })], []);
    expect([index.owner('sessionToken t'), index.owner('sessionToken u')]).toEqual([null, 'a']);
  });

  it('free a session token that was kept once a copy of the same version has its own', () => {
    const index = new ClaimIndex();
    const [old, later] = [{ sessionToken: 't' }, { updatedAt: LATER }];
    index.store([stored('a', ['sessionToken t', 'email x'], old)], []);
    index.store([{ ...stored('a', ['email x'], later), lacks: ['sessionToken'] }], []);
    index.store([stored('a', ['sessionToken u'], { ...later, sessionToken: 'u' })], []);
    expect(['sessionToken t', 'sessionToken u', 'email x'].map((claim) => index.owner(claim))).toEqual([
      ...[null, 'a', 'a'],
    ]);
  });

  it('that stored objects give up are free, unless another object has taken them since', () => {
    const index = new ClaimIndex();
    index.store([stored('a', []), stored('b', ['email x'])], ['email y']);
    expect([index.owner('email x'), index.owner('email y')]).toEqual(['b', null]);
    // The service gives up the address of the stored user once more: it does not know of the batches before.
    index.store([stored('a', [], { updatedAt: LATER })], ['email x']);
    expect(index.owner('email x')).toBe('b');
  });

  it('grow by those that another copy of the same version adds', () => {
    const index = new ClaimIndex();
    index.store([{ ...stored('a', ['username a']), lacks: ['password', 'email', 'sessionToken'] }], []);
    expect(index.earlier([user('a')], []).objects[0]?.lacks).toEqual(['password', 'sessionToken', 'email']);
    index.store([{ ...stored('a', ['email x']), lacks: ['sessionToken'] }], []);
    expect([index.owner('username a'), index.owner('email x')]).toEqual(['a', 'a']);
    expect(index.earlier([user('a')], []).objects[0]?.lacks).toEqual(['sessionToken']);
  });

  it('that an earlier version in the same batch had are free', () => {
    const index = new ClaimIndex();
    index.store([stored('a', ['email x']), stored('a', ['email y'])], ['email x']);
    expect([index.owner('email x'), index.owner('email y')]).toEqual([null, 'a']);
  });

  it('go to the service with the times of the objects that it asks about', () => {
    const index = new ClaimIndex();
    index.store([stored('a', ['email x'], { updatedAt: LATER }), stored('b', ['email y'])], ['email z']);
    expect(index.earlier([user('a'), user('a'), user('new')], ['email x', 'email z', 'email new'])).toEqual({
      owners: { 'email x': 'a', 'email z': null },
      objects: [{ objectId: 'a', createdAt: TIME, updatedAt: LATER, lacks: [] }],
    });
  });

  it('keep a token over versions without one, and free it with the next token only', () => {
    const index = new ClaimIndex();
    index.store([stored('a', ['sessionToken t'], { sessionToken: 't' })], []);
    for (const updatedAt of [LATER, LATEST]) index.store([stored('a', ['email x'], { updatedAt })], []);
    expect([index.owner('sessionToken t'), index.owner('email x')]).toEqual(['a', 'a']);
    const last = { updatedAt: '2023-01-01T00:00:00.000Z' };
    index.store([stored('a', ['sessionToken u'], { ...last, sessionToken: 'u' }), stored('b', ['sessionToken t'])], []);
    expect(['sessionToken t', 'sessionToken u', 'email x'].map((claim) => index.owner(claim))).toEqual([
      'b',
      'a',
      null,
    ]);
  });

  it('move with new versions of many objects, without a pass over all claims for each', { timeout: 10_000 }, () => {
    const index = new ClaimIndex();
    const count = 60_000;
    for (const [version, updatedAt] of [TIME, LATER].entries())
      for (let n = 0; n < count; n += 1) index.store([stored(`o${n}`, [`email ${version} ${n}`], { updatedAt })], []);
    const owners = [0, 1].map((version) => index.owner(`email ${version} ${count - 1}`));
    expect(owners).toEqual([null, `o${count - 1}`]);
  });

  it('survive growth', () => {
    const index = new ClaimIndex();
    const count = 20_000;
    // As LeanCloud's ids, or of the longest other ones.
    const idOf = (n: number) => (n % 2 === 0 ? n.toString(16).padStart(24, '0') : `-${n}`.padStart(64, 'Z_'));
    for (let from = 0; from < count; from += 1_000) {
      const batch = Array.from({ length: 1_000 }, (_, n) =>
        stored(idOf(from + n), [`email ${from + n}`, `username ${from + n}`]),
      );
      index.store(batch, []);
    }
    for (let n = 0; n < count; n += 1)
      if (index.owner(`email ${n}`) !== idOf(n)) expect.fail(`the address of ${n} belongs to another`);
    const [last] = index.earlier([user(idOf(count - 1))], []).objects;
    expect(last).toEqual({ objectId: idOf(count - 1), createdAt: TIME, updatedAt: TIME, lacks: [] });
    expect([index.owner(`email ${count}`), index.has(idOf(0)), index.has(idOf(count))]).toEqual([
      undefined,
      true,
      false,
    ]);
  });
});

describe('the objects of an export', () => {
  it('have a newest version, whatever the order of the copies', () => {
    const objects = new ExportedObjects();
    const [old, recent] = ['2020-01-01T00:00:00.000Z', '2026-11-01T00:00:10.000Z'];
    const copies = [old, recent, old].map((updatedAt) => ({ ...user('a'), updatedAt, sessionToken: 't' }));
    expect(copies.map((copy) => objects.add(copy))).toEqual([true, false, false]);
    expect([old, recent].map((updatedAt) => objects.hasNewer('a', updatedAt))).toEqual([true, false]);
    expect(objects.hasNewer('b', old)).toBe(false);
    expect(objects.counts).toEqual({ objects: 1, password: 0, sessionToken: 1, identities: 0 });
  });
});
