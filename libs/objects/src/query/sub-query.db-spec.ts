import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ThingTable } from '../../test/thing-table.js';

const pointer = (objectId: string, className = 'Thing') => ({ __type: 'Pointer', className, objectId });
const onlyFor = (...grantees: string[]) => Object.fromEntries(grantees.map((grantee) => [grantee, { read: true }]));

let things: ThingTable;
beforeAll(async () => {
  things = await ThingTable.create();
  await things.add([
    {
      id: 'a',
      name: 'ann',
      isOpen: true,
      createdAt: '2026-01-01T00:00:00.250Z',
      fields: { level: 1, word: 'x', next: pointer('b') },
    },
    {
      id: 'b',
      name: 'bob',
      isOpen: false,
      fields: { level: 2, word: ['x', 'y'], next: [pointer('c'), pointer('a')], deep: { next: pointer('a') } },
    },
    {
      id: 'c',
      name: 'carl',
      fields: { level: 3, word: 'ann', next: pointer('s1', 'Shelf'), deep: [{ next: pointer('b') }] },
    },
    { id: 'd', name: 'dora', acl: onlyFor('u1', 'role:staff'), fields: { level: 4, next: pointer('a') } },
    { id: 'e', name: 'eve', acl: { u1: { write: true }, '*': {} }, fields: { level: 5, next: { objectId: 'a' } } },
  ]);
  await things.add(
    [
      {
        id: 's1',
        name: 'x',
        fields: {
          favourite: pointer('a'),
          words: { best: 'bob' },
          level: 2,
          made: { __type: 'Date', iso: '2026-01-01T00:00:00.250Z' },
        },
      },
      { id: 's2', name: 'ann', isOpen: true, fields: { level: [2], words: { best: ['x', 'y'] } } },
      { id: 's3', name: 'secret', acl: onlyFor('u1'), fields: { level: 4 } },
      { id: 's4', name: 'empty', fields: { level: null } },
    ],
    'shelves',
  );
  await things.add([{ id: 'foreign', name: 'eve', fields: { level: 1 } }], 'shelves', 'another app');
  await things.relate('s1', ['a', 'b']);
  await things.relate('s2', ['b', 'c', 'd']);
  await things.relate('s3', ['e']);
});
afterAll(() => things.close());

const grantees = (...names: string[]) => ({ scope: { grantees: names } });

describe('$inQuery and $notInQuery', () => {
  const inThings = (where: unknown, more: object = {}) => ({ $inQuery: { className: 'Thing', where, ...more } });

  it.each<[unknown, string]>([
    [{ next: inThings({}) }, 'abd'],
    [{ next: inThings({ level: 1 }) }, 'bd'],
    [{ next: inThings({ level: { $gt: 1 } }) }, 'ab'],
    [{ next: inThings([{ level: 1 }, { name: 'ann' }]) }, 'bd'],
    [{ next: inThings({ level: 99 }) }, ''],
    [{ next: inThings({}, { order: '-level', limit: 1 }) }, ''],
    [{ next: inThings({}, { order: 'level', limit: 1 }) }, 'bd'],
    [{ next: inThings({}, { order: 'level', limit: 1, skip: 1 }) }, 'a'],
    [{ next: { $inQuery: { className: 'Shelf', where: { name: 'x' } } } }, 'c'],
    [{ next: { $notInQuery: { className: 'Thing', where: { level: 1 } } } }, 'ace'],
    [{ next: { $notInQuery: { className: 'Thing', where: { level: 99 } } } }, 'abcde'],
    [{ 'deep.next': inThings({ level: { $in: [1, 2] } }) }, 'bc'],
    [{ 'next.0': inThings({ level: 3 }) }, 'b'],
    [{ next: inThings({ next: inThings({ level: 2 }) }) }, 'bd'],
    [{ $or: [{ next: inThings({ level: 1 }) }, { next: inThings({ level: 2 }) }] }, 'abd'],
  ])('%j finds %s', async (where, ids) => {
    expect((await things.find(where)).join('')).toBe(ids);
    expect(await things.count(where)).toBe(ids.length);
  });

  it('returns 100 objects without a limit', async () => {
    const many = Array.from({ length: 101 }, (_, index) => ({
      id: `m${index}`,
      name: String(index).padStart(3, '0'),
      createdAt: '2026-01-01T00:00:00Z',
      fields: { many: true },
    }));
    await things.add(many, 'shelves', 'many');
    await things.add([{ id: 'last', fields: { shelf: pointer('m100', 'Shelf') } }], 'things', 'many');
    const find = (more: object) =>
      things.find(
        { shelf: { $inQuery: { className: 'Shelf', order: 'name', ...more } } },
        { scope: { appId: 'many' } },
      );
    expect(await find({})).toEqual([]);
    expect(await find({ limit: 101 })).toEqual(['last']);
    expect(await find({ limit: 1_001 })).toEqual([]);
  });
});

describe('$select and $dontSelect', () => {
  const selected = (key: string, where: unknown = {}) => ({ $select: { key, query: { className: 'Shelf', where } } });

  it.each<[unknown, string]>([
    [{ level: selected('level') }, 'bd'],
    [{ level: selected('level', { name: 'x' }) }, 'b'],
    [{ word: selected('name') }, 'abc'],
    [{ word: selected('words.best') }, 'b'],
    [{ name: selected('name') }, 'a'],
    [{ name: selected('words.best') }, 'b'],
    [{ isOpen: selected('isOpen') }, 'a'],
    [{ createdAt: selected('made') }, 'a'],
    [{ next: selected('favourite') }, 'bd'],
    [{ level: selected('unknown') }, ''],
    [{ level: { $dontSelect: selected('level').$select } }, 'ace'],
    [{ name: { $dontSelect: selected('name').$select } }, 'bcde'],
    [{ unknown: { $dontSelect: selected('level').$select } }, 'abcde'],
  ])('%j finds %s', async (where, ids) => {
    expect((await things.find(where)).join('')).toBe(ids);
  });
});

describe('relations', () => {
  const shelves = async (where: unknown, options = {}) =>
    (await things.find(where, { order: 'objectId', ...options }, 'Shelf')).join('');
  const relatedTo = (objectId: string, key = 'things') => ({ $relatedTo: { object: pointer(objectId, 'Shelf'), key } });

  it.each<[unknown, string]>([
    [{ things: pointer('b') }, 's1s2'],
    [{ things: pointer('a') }, 's1'],
    [{ things: pointer('unknown') }, ''],
    [{ things: pointer('a', 'Shelf') }, ''],
    [{ things: 'a' }, ''],
    [{ things: { $ne: pointer('a') } }, 's2s3s4'],
    [{ things: { $in: [pointer('a'), pointer('e'), 7] } }, 's1s3'],
    [{ things: { $in: [] } }, ''],
    [{ things: { $nin: [pointer('b')] } }, 's3s4'],
    [{ things: { $all: [pointer('b'), pointer('c'), pointer('b')] } }, 's2'],
    [{ things: { $all: [pointer('b'), 'c'] } }, ''],
    [{ things: { $all: [] } }, ''],
    [{ things: null }, 's4'],
    [{ things: { $exists: true } }, 's1s2s3'],
    [{ things: { $exists: false } }, 's4'],
    [{ things: { $inQuery: { className: 'Thing', where: { level: { $gte: 3 } } } } }, 's2s3'],
    [{ things: { $notInQuery: { className: 'Thing', where: { level: { $gte: 3 } } } } }, 's1s4'],
  ])('are searched by their members: %j finds %s', async (where, ids) => {
    expect(await shelves(where)).toBe(ids);
  });

  it('list their members', async () => {
    expect(await things.find(relatedTo('s2'))).toEqual(['b', 'c', 'd']);
    expect(await things.find({ ...relatedTo('s2'), level: { $lt: 4 } }, { order: '-name' })).toEqual(['c', 'b']);
    expect(await things.find(relatedTo('unknown'))).toEqual([]);
  });

  it('belong to one application', async () => {
    const options = { scope: { appId: 'another app' } };
    expect(await shelves({ things: { $exists: true } }, options)).toBe('');
    expect(await things.find(relatedTo('s2'), options)).toEqual([]);
  });
});

describe('a caller', () => {
  it.each<[string[], string]>([
    [[], 'abc'],
    [['*'], 'abc'],
    [['*', 'u1'], 'abcd'],
    [['*', 'u2', 'role:staff'], 'abcd'],
    [['*', 'u2', 'role:other'], 'abc'],
    [['role:"staff', '{"u1"', "u1'"], 'abc'],
  ])('with the grants of %j, alone or beside many roles, finds %s', async (few, ids) => {
    const roles = Array.from({ length: 10_000 }, (_, index) => `role:r${index}`);
    for (const names of [few, [...few, ...roles]]) {
      expect((await things.find({}, grantees(...names))).join('')).toBe(ids);
      expect(await things.count({ $or: [{ level: 4 }, {}] }, { grantees: names })).toBe(ids.length);
    }
  });

  it('cannot learn of hidden rows through sub-queries', async () => {
    const throughShelf = {
      level: { $select: { key: 'level', query: { className: 'Shelf', where: { name: 'secret' } } } },
    };
    expect(await things.find(throughShelf, grantees('*', 'u1'))).toEqual(['d']);
    expect(await things.find(throughShelf, grantees('*', 'role:staff'))).toEqual([]);
    const memberOfSecret = { $relatedTo: { object: pointer('s3', 'Shelf'), key: 'things' } };
    expect(await things.find(memberOfSecret)).toEqual(['e']);
    expect(await things.find(memberOfSecret, grantees('*', 'role:staff'))).toEqual([]);
    const ownerOfHidden = { things: { $inQuery: { className: 'Thing', where: { level: 4 } } } };
    expect(await things.find(ownerOfHidden, grantees('*', 'u1'), 'Shelf')).toEqual(['s2']);
    expect(await things.find(ownerOfHidden, grantees('*'), 'Shelf')).toEqual([]);
  });

  it('cannot learn of other applications through sub-queries', async () => {
    const where = { level: { $select: { key: 'level', query: { className: 'Shelf', where: { name: 'eve' } } } } };
    expect(await things.find(where)).toEqual([]);
  });
});
