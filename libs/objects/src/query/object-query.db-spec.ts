import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ThingTable } from '../../test/thing-table.js';

let things: ThingTable;
beforeAll(async () => {
  things = await ThingTable.create();
  await things.add([
    {
      id: 'a',
      name: 'Anna',
      nickname: 'ann',
      isOpen: true,
      createdAt: '2026-01-01T00:00:00.000Z',
      fields: {
        n: 1,
        text: 'apple',
        tags: ['x', 'y'],
        flag: true,
        city: { name: 'Paris', zip: 75 },
        when: date('2026-01-01T00:00:00.000Z'),
        items: [{ name: 'p', sizes: [1, 2] }, { name: 'q' }],
        scores: { 2024: 5, 'ü-1': 6 },
        owner: pointer('b'),
        place: place(39.9, 116.4),
      },
    },
    {
      id: 'b',
      name: 'bob',
      nickname: 'Bo',
      isOpen: false,
      createdAt: '2026-02-01T00:00:00.500Z',
      fields: {
        n: 10,
        text: 'Banana',
        tags: ['y'],
        flag: false,
        city: { name: 'Rome' },
        when: date('2026-06-01T12:00:00.000Z'),
        items: { name: 'p' },
        scores: [1, 2],
        owner: pointer('c'),
        place: place(31.2, 121.5),
      },
    },
    {
      id: 'c',
      name: 'Carl',
      createdAt: '2026-03-01T00:00:00.000Z',
      fields: {
        n: '1',
        text: 'cherry\npie',
        tags: [],
        city: 'Paris',
        when: '2026-01-01T00:00:00.000Z',
        items: [],
        nothing: null,
        owner: { __type: 'Pointer', className: 'Other', objectId: 'b' },
        place: { latitude: 39.9, longitude: 116.4 },
      },
    },
    { id: 'd', name: 'dora', isOpen: true, createdAt: '2026-04-01T00:00:00.000Z' },
    {
      id: 'e',
      name: 'Anna_2',
      nickname: '',
      createdAt: '2026-05-01T00:00:00.000Z',
      fields: {
        n: [1, 10],
        text: 7,
        tags: [['x', 'y'], 'z', null],
        flag: 1,
        city: { name: ['Paris', 'Rome'] },
        items: [{ name: 'r', sizes: [] }],
        owner: [pointer('a'), pointer('b')],
        place: place(-33.9, 151.2),
        big: 9_007_199_254_740_991,
        fraction: 0.1,
      },
    },
  ]);
  await things.add([{ id: 'foreign', fields: { n: 1, text: 'apple' } }], 'things', 'another app');
});
afterAll(() => things.close());

function date(iso: string): object {
  return { __type: 'Date', iso };
}
function pointer(objectId: string): object {
  return { __type: 'Pointer', className: 'Thing', objectId };
}
function place(latitude: number, longitude: number): object {
  return { __type: 'GeoPoint', latitude, longitude };
}

/** A `where` and the ids of the rows that it finds, as one text. */
type Case = [where: unknown, found: string];

async function expectFound(where: unknown, found: string): Promise<void> {
  expect((await things.find(where)).join('')).toBe(found);
  expect(await things.count(where)).toBe(found.length);
  const meeting = await Promise.all(Array.from('abcde').map(async (id) => ((await things.meets(id, where)) ? id : '')));
  expect(meeting.join('')).toBe(found);
}

describe('equality', () => {
  it.each<Case>([
    [{}, 'abcde'],
    [[], 'abcde'],
    [[{ n: 1 }, { tags: 'x' }], 'a'],
    [{ n: 1 }, 'ae'],
    [{ n: 1.0, text: 'apple' }, 'a'],
    [{ n: '1' }, 'c'],
    [{ n: [1, 10] }, 'e'],
    [{ n: [10, 1] }, ''],
    [{ fraction: 0.1 }, 'e'],
    [{ big: 9_007_199_254_740_991 }, 'e'],
    [{ flag: true }, 'a'],
    [{ flag: 1 }, 'e'],
    [{ tags: 'y' }, 'ab'],
    [{ tags: ['x', 'y'] }, 'ae'],
    [{ tags: [] }, 'c'],
    [{ tags: 'X' }, ''],
    [{ city: { name: 'Paris', zip: 75 } }, 'a'],
    [{ city: { zip: 75, name: 'Paris' } }, 'a'],
    [{ city: { name: 'Paris' } }, ''],
    [{ items: { name: 'q' } }, 'a'],
    [{ items: { name: 'p' } }, 'b'],
    [{ when: date('2026-01-01T08:00:00+08:00') }, 'a'],
    [{ when: '2026-01-01T00:00:00.000Z' }, 'c'],
    [{ owner: pointer('b') }, 'ae'],
    [{ owner: { ...pointer('b'), username: 'x' } }, 'ae'],
    [{ place: place(39.9, 116.4) }, 'a'],
    [{ nothing: null }, 'abcde'],
    [{ n: null }, 'd'],
    [{ tags: null }, 'de'],
    [{ unknown: 1 }, ''],
  ])('of custom fields: %j finds %s', expectFound);

  it.each<Case>([
    [{ 'city.name': 'Paris' }, 'ae'],
    [{ 'city.name': ['Paris', 'Rome'] }, 'e'],
    [{ 'city.zip': 75 }, 'a'],
    [{ 'city.zip': null }, 'bcde'],
    [{ 'items.name': 'p' }, 'ab'],
    [{ 'items.name': 'q' }, 'a'],
    [{ 'items.0.name': 'p' }, 'a'],
    [{ 'items.1.name': 'p' }, ''],
    [{ 'items.1.name': 'q' }, 'a'],
    [{ 'items.0.sizes.1': 2 }, 'a'],
    [{ 'items.sizes': 2 }, 'a'],
    [{ 'items.sizes': [] }, 'e'],
    [{ 'items.0.sizes': [1, 2] }, 'a'],
    [{ 'scores.2024': 5 }, 'a'],
    [{ 'scores.1': 2 }, 'b'],
    [{ 'scores.ü-1': 6 }, 'a'],
    [{ 'tags.0': 'y' }, 'be'],
    [{ 'tags.0': ['x', 'y'] }, 'e'],
    [{ 'tags.0.1': 'y' }, 'e'],
    [{ 'owner.objectId': 'b' }, 'ace'],
    [{ 'text.length': 5 }, ''],
  ])('of paths: %j finds %s', expectFound);

  it.each<Case>([
    [{ name: 'Anna' }, 'a'],
    [{ name: 'anna' }, ''],
    [{ name: 7 }, ''],
    [{ name: { a: 1 } }, ''],
    [{ name: null }, ''],
    [{ nickname: null }, 'cd'],
    [{ nickname: '' }, 'e'],
    [{ isOpen: true }, 'ad'],
    [{ isOpen: 'true' }, ''],
    [{ isOpen: null }, 'ce'],
    [{ objectId: 'b' }, 'b'],
    [{ createdAt: date('2026-02-01T00:00:00.500Z') }, 'b'],
    [{ createdAt: '2026-02-01T08:00:00.500+08:00' }, 'b'],
    [{ createdAt: 'yesterday' }, ''],
    [{ createdAt: null }, ''],
  ])('of columns: %j finds %s', expectFound);
});

describe('$ne, $in, $nin, $all', () => {
  it.each<Case>([
    [{ n: { $ne: 1 } }, 'bcd'],
    [{ n: { $ne: null } }, 'abce'],
    [{ 'city.name': { $ne: 'Paris' } }, 'bcd'],
    [{ name: { $ne: 'Anna' } }, 'bcde'],
    [{ name: { $ne: 7 } }, 'abcde'],
    [{ nickname: { $ne: 'ann' } }, 'bcde'],
    [{ nickname: { $ne: null } }, 'abe'],
    [{ isOpen: { $ne: true } }, 'bce'],
    [{ createdAt: { $ne: '2026-02-01T00:00:00.500Z' } }, 'acde'],
    [{ n: { $in: [10, '1'] } }, 'bce'],
    [{ n: { $in: [null, 10] } }, 'bde'],
    [{ n: { $in: [] } }, ''],
    [{ city: { $in: ['Paris', { name: 'Rome' }] } }, 'bc'],
    [{ 'items.0.name': { $in: ['p', 'r'] } }, 'ae'],
    [{ name: { $in: ['bob', 'dora', 5, null] } }, 'bd'],
    [{ nickname: { $in: ['Bo', null] } }, 'bcd'],
    [{ isOpen: { $in: [true, false] } }, 'abd'],
    [{ createdAt: { $in: ['2026-04-01', date('2026-05-01T00:00:00Z'), 'x'] } }, 'de'],
    [{ n: { $nin: [10, '1'] } }, 'ad'],
    [{ n: { $nin: [] } }, 'abcde'],
    [{ n: { $nin: [null] } }, 'abce'],
    [{ nickname: { $nin: ['Bo', null] } }, 'ae'],
    [{ nickname: { $nin: ['Bo'] } }, 'acde'],
    [{ tags: { $all: ['x', 'y'] } }, 'a'],
    [{ tags: { $all: ['y', 'y'] } }, 'ab'],
    [{ tags: { $all: ['z', ['x', 'y']] } }, 'e'],
    [{ tags: { $all: [] } }, ''],
    [{ 'items.name': { $all: ['p', 'q'] } }, 'a'],
    [{ items: { $all: [{ name: 'q' }, { name: 'p', sizes: [1, 2] }] } }, 'a'],
    [{ n: { $all: ['1'] } }, 'c'],
    [{ name: { $all: ['bob'] } }, 'b'],
    [{ name: { $all: ['bob', 'Anna'] } }, ''],
  ])('%j finds %s', expectFound);
});

describe('comparisons', () => {
  it.each<Case>([
    [{ n: { $gt: 1 } }, 'be'],
    [{ n: { $gte: 1 } }, 'abe'],
    [{ n: { $lt: 10 } }, 'ae'],
    [{ n: { $lte: 10, $gt: 5 } }, 'be'],
    [{ n: { $lt: '2' } }, 'c'],
    [{ n: { $gt: -1e300 } }, 'abe'],
    [{ text: { $gte: 'Banana' } }, 'abc'],
    [{ text: { $lt: 'a' } }, 'b'],
    [{ text: { $lt: 8 } }, 'e'],
    [{ flag: { $gt: false } }, 'a'],
    [{ flag: { $lte: true } }, 'ab'],
    [{ when: { $gt: date('2025-12-31T00:00:00Z') } }, 'ab'],
    [{ when: { $gt: date('2026-01-01T00:00:00.000Z') } }, 'b'],
    [{ when: { $gte: date('2026-01-01T08:00:00+08:00'), $lt: date('2026-06-01') } }, 'a'],
    [{ when: { $gte: '2026' } }, 'c'],
    [{ 'city.zip': { $gte: 75 } }, 'a'],
    [{ 'city.name': { $gt: 'Q' } }, 'be'],
    [{ 'items.sizes': { $gt: 1 } }, 'a'],
    [{ 'items.0.sizes.0': { $lt: 2 } }, 'a'],
    [{ name: { $gt: 'C' } }, 'bcd'],
    [{ name: { $lt: 'a' } }, 'ace'],
    [{ name: { $lt: 1 } }, ''],
    [{ tags: { $lt: 'y' } }, 'a'],
    [{ nickname: { $gte: '' } }, 'abe'],
    [{ isOpen: { $gte: true } }, 'ad'],
    [{ createdAt: { $gt: date('2026-02-01T00:00:00.499Z'), $lte: '2026-04-01' } }, 'bcd'],
    [{ createdAt: { $lt: 'tomorrow' } }, ''],
    [{ createdAt: { $lt: 5 } }, ''],
  ])('%j finds %s', expectFound);
});

describe('$exists, $size', () => {
  it.each<Case>([
    [{ n: { $exists: true } }, 'abce'],
    [{ n: { $exists: false } }, 'd'],
    [{ nothing: { $exists: true } }, 'c'],
    [{ 'city.zip': { $exists: true } }, 'a'],
    [{ 'city.zip': { $exists: false } }, 'bcde'],
    [{ 'items.sizes': { $exists: true } }, 'ae'],
    [{ 'items.1': { $exists: true } }, 'a'],
    [{ nickname: { $exists: true } }, 'abe'],
    [{ isOpen: { $exists: false } }, 'ce'],
    [{ tags: { $size: 0 } }, 'c'],
    [{ tags: { $size: 3 } }, 'e'],
    [{ text: { $size: 1 } }, ''],
    [{ 'items.sizes': { $size: 0 } }, 'e'],
    [{ 'items.0.sizes': { $size: 2 } }, 'a'],
    [{ name: { $size: 0 } }, ''],
  ])('%j finds %s', expectFound);
});

describe('$or, $and, $nor', () => {
  it.each<Case>([
    [{ $or: [{ n: 10 }, { tags: 'x' }] }, 'abe'],
    [{ $or: [{ n: 10, flag: false }, { nickname: null }], isOpen: { $exists: true } }, 'bd'],
    [{ $and: [{ n: { $gt: 0 } }, { tags: 'y' }] }, 'ab'],
    [{ $nor: [{ n: 10 }, { nickname: 'ann' }] }, 'cd'],
    [{ $nor: [{ $nor: [{ nickname: 'ann' }] }] }, 'a'],
    [{ $or: [{ $and: [{ flag: true }, { $or: [{ n: 1 }, { n: 2 }] }] }, { name: 'dora' }] }, 'ad'],
    [[{ $or: [{ n: 1 }, { n: 10 }] }, { flag: { $ne: true } }], 'be'],
    [{ $or: [{}] }, 'abcde'],
  ])('%j finds %s', expectFound);
});

describe('$regex', () => {
  it.each<Case>([
    [{ text: { $regex: 'an' } }, 'b'],
    [{ text: { $regex: '^a|^B' } }, 'ab'],
    [{ text: { $regex: '^BAN', $options: 'i' } }, 'b'],
    [{ text: { $regex: '^pie', $options: 'm' } }, 'c'],
    [{ tags: { $regex: '^[yz]$' } }, 'abe'],
    [{ tags: { $regex: '^x' } }, 'a'],
    [{ 'items.name': { $regex: 'q|r' } }, 'ae'],
    [{ 'items.0.name': { $regex: 'q|r' } }, 'e'],
    [{ city: { $regex: '' } }, 'c'],
    [{ name: { $regex: '^\\QAnna\\E' } }, 'ae'],
    [{ name: { $regex: '\\Q_2\\E$' } }, 'e'],
    [{ name: { $regex: '^b', $options: 'i' } }, 'b'],
    [{ nickname: { $regex: '.*' } }, 'abe'],
    [{ isOpen: { $regex: 'true' } }, ''],
    [{ createdAt: { $regex: '2026' } }, ''],
  ])('%j finds %s', expectFound);
});

describe('places', () => {
  const beijing = place(39.9, 116.4);

  it.each<Case>([
    [{ place: { $nearSphere: beijing } }, 'abe'],
    [{ place: { $nearSphere: place(-33, 151) } }, 'eba'],
    [{ place: { $nearSphere: beijing, $maxDistanceInKilometers: 0 } }, 'a'],
    [{ place: { $nearSphere: beijing, $maxDistanceInKilometers: 1_067 } }, 'a'],
    [{ place: { $nearSphere: beijing, $maxDistanceInKilometers: 1_080 } }, 'ab'],
    [{ place: { $nearSphere: beijing, $maxDistanceInMiles: 660 } }, 'a'],
    [{ place: { $nearSphere: beijing, $maxDistanceInMiles: 670 } }, 'ab'],
    [{ place: { $nearSphere: beijing, $maxDistance: 0.17 } }, 'ab'],
    [{ place: { $nearSphere: beijing, $minDistanceInKilometers: 1, $maxDistanceInKilometers: 1_080 } }, 'b'],
    [{ place: { $nearSphere: beijing, $minDistanceInKilometers: 1_080, $maxDistanceInMiles: 670 } }, ''],
    [{ place: { $nearSphere: beijing, $maxDistanceInRadians: 0.16 } }, 'a'],
    [{ place: { $within: { $box: [place(30, 110), place(40, 125)] } } }, 'ab'],
    [{ place: { $within: { $box: [place(-90, 150), place(90, -170)] } } }, 'e'],
    [{ text: { $nearSphere: beijing } }, ''],
    [{ name: { $within: { $box: [place(0, 0), place(1, 1)] } } }, ''],
  ])('%j finds %s', async (where, found) => {
    expect((await things.find(where)).join('')).toBe(found);
    expect(await things.count(where)).toBe(found.length);
  });

  it('are measured on the sphere, also over the date line and at the poles', async () => {
    await things.add(
      [
        { id: 'f', fields: { spot: place(0, 179.9) } },
        { id: 'g', fields: { spot: place(90, 0) } },
      ],
      'things',
      'globe',
    );
    const near = (point: object, kilometers: number) =>
      things.find(
        { spot: { $nearSphere: point, $maxDistanceInKilometers: kilometers } },
        { scope: { appId: 'globe' } },
      );
    expect(await near(place(0, -179.9), 23)).toEqual(['f']);
    expect(await near(place(0, -179.9), 22)).toEqual([]);
    expect(await near(place(90, 120), 0.001)).toEqual(['g']);
    expect(await near(place(-90, 0), 20_016)).toEqual(['f', 'g']);
  });

  it('are ordered by distance only without an explicit order', async () => {
    const where = { place: { $nearSphere: place(-33, 151) } };
    expect(await things.find(where, { order: 'createdAt' })).toEqual(['a', 'b', 'e']);
    expect(await things.find([where, { n: { $exists: true } }], { limit: 2 })).toEqual(['e', 'b']);
  });
});
