import { describe, expect, it } from 'vitest';
import type { JsonValue } from '#contracts';
import { parseOrder } from './parse-values.js';
import { parseWhere } from './parse.js';

const repeat = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));
const object = (count: number): JsonValue => Object.fromEntries(repeat(count, (index) => [`k${index}`, 1]));
const nested = (depth: number, operator = '$and'): JsonValue =>
  depth === 0 ? { a: 1 } : { [operator]: [nested(depth - 1, operator)] };
const subQuery = (where: JsonValue): JsonValue => ({ a: { $inQuery: { className: 'Thing', where } } });
const subQueries = (depth: number): JsonValue => (depth === 0 ? {} : subQuery(subQueries(depth - 1)));
const place = (latitude: number, longitude: number) => ({ __type: 'GeoPoint', latitude, longitude });
const field = (name: string, test: object) => ({ kind: 'field', field: name.split('.'), test });
const all = (...conditions: object[]) => ({ kind: 'and', conditions });

describe('parseWhere', () => {
  it.each<[unknown, object]>([
    [undefined, all()],
    [null, all()],
    [{}, all()],
    [[], all()],
    [{ a: 1 }, all(field('a', { kind: 'isAnyOf', values: [1] }))],
    [{ 'a.b.0': [null] }, all(field('a.b.0', { kind: 'isAnyOf', values: [[null]] }))],
    [
      { a: { $gt: 1, $lte: 'x' } },
      all(
        field('a', { kind: 'compares', operator: '>', value: 1 }),
        field('a', { kind: 'compares', operator: '<=', value: 'x' }),
      ),
    ],
    [{ a: { $nin: [1] } }, all({ kind: 'not', condition: field('a', { kind: 'isAnyOf', values: [1] }) })],
    [
      { $nor: [{ a: 1 }] },
      all({ kind: 'not', condition: { kind: 'or', conditions: [all(field('a', { kind: 'isAnyOf', values: [1] }))] } }),
    ],
    [
      [{ a: { $exists: true } }, { b: { $exists: false } }],
      all(all(field('a', { kind: 'exists' })), all({ kind: 'not', condition: field('b', { kind: 'exists' }) })),
    ],
    [
      { a: { $regex: 'b', $options: 'i' } },
      all(field('a', { kind: 'matches', pattern: '***:(?i)b', ignoresCase: true })),
    ],
    [
      { a: { $nearSphere: place(1, 2), $maxDistanceInKilometers: 6371, $maxDistance: 2 } },
      all(field('a', { kind: 'isNear', point: { latitude: 1, longitude: 2 }, maxRadians: 1 })),
    ],
    [
      { a: { $inQuery: { className: 'B', where: { c: 1 }, limit: 5, order: '-d', skip: 1, keys: 'e' } } },
      all(
        field('a', {
          kind: 'isInQuery',
          query: {
            className: 'B',
            where: all(field('c', { kind: 'isAnyOf', values: [1] })),
            order: [{ field: ['d'], direction: 'DESC' }],
            limit: 5,
            skip: 1,
          },
        }),
      ),
    ],
    [
      { $relatedTo: { object: { __type: 'Pointer', className: '_Role', objectId: 'r1' }, key: 'users' } },
      all({ kind: 'related', object: { className: '_Role', objectId: 'r1' }, key: 'users' }),
    ],
  ])('reads %j', (where, tree) => {
    expect(parseWhere(where)).toEqual(tree);
  });

  it.each([0, -1, 1001, 1.5, '5', null])('reads a limit of %j in a sub-query as 100', (limit) => {
    const where = parseWhere({ a: { $inQuery: { className: 'B', limit } } });
    expect(JSON.stringify(where)).toContain('"limit":100');
  });

  it('parses values into their stored form', () => {
    const where = { a: { $gte: { __type: 'Date', iso: '2026-01-02T00:00:00+08:00', extra: 1 } } };
    const value = { __type: 'Date', iso: '2026-01-01T16:00:00.000Z' };
    expect(parseWhere(where)).toEqual(all(field('a', { kind: 'compares', operator: '>=', value })));
  });

  it.each<[string, unknown]>([
    ['text', 'text'],
    ['a number', 7],
    ['a list of numbers', [1]],
    ['a list in a list', [[{}]]],
    ['an unknown operator', { a: { $foo: 1 } }],
    ['an unknown operator at the top', { $where: '1' }],
    ['an operator among members', { a: { $gt: 1, b: 2 } }],
    ['an operator within a value', { a: { b: { $gt: 1 } } }],
    ['an operator within a list', { a: [{ $gt: 1 }] }],
    ['an operator within an operator', { a: { $ne: { $gt: 1 } } }],
    ['an update operation', { a: { __op: 'Delete' } }],
    ['a NUL character', { a: 'a\0' }],
    ['half of a character', { a: { b: ['\ud800'] } }],
    ['a prototype', JSON.parse('{"a": {"__proto__": {"b": 1}}}')],
    ['a Date that is none', { a: { __type: 'Date', iso: 'yesterday' } }],
    ['an unknown type', { a: { $in: [{ __type: 'Set' }] } }],
    ['$or without a list', { $or: { a: 1 } }],
    ['$or of nothing', { $or: [] }],
    ['$and of text', { $and: ['a'] }],
    ['$nor of null', { $nor: null }],
    ['$or of lists', { $or: [[{ a: 1 }]] }],
    ['$in without a list', { a: { $in: 'x' } }],
    ['$in of an object with a length', { a: { $in: { length: 1, 0: 'x' } } }],
    ['$all without a list', { a: { $all: {} } }],
    ['$gt of null', { a: { $gt: null } }],
    ['$gt of a list', { a: { $gt: [1] } }],
    ['$lt of an object', { a: { $lt: { b: 1 } } }],
    ['$lt of a place', { a: { $lt: place(1, 2) } }],
    ['$exists of a number', { a: { $exists: 1 } }],
    ['$size of text', { a: { $size: '1' } }],
    ['$size below 0', { a: { $size: -1 } }],
    ['half a $size', { a: { $size: 0.5 } }],
    ['$regex of an object', { a: { $regex: {} } }],
    ['$options alone', { a: { $options: 'i' } }],
    ['unknown $options', { a: { $regex: 'a', $options: 'g' } }],
    ['$options of a number', { a: { $regex: 'a', $options: 1 } }],
    ['a distance alone', { a: { $maxDistanceInMiles: 1 } }],
    ['a distance below 0', { a: { $nearSphere: place(1, 2), $maxDistance: -1 } }],
    ['a distance as text', { a: { $nearSphere: place(1, 2), $maxDistance: '1' } }],
    ['$within of something else', { a: { $within: { $centerSphere: [] } } }],
    ['a box of one corner', { a: { $within: { $box: [place(1, 2)] } } }],
    ['a sub-query that is none', { a: { $inQuery: 'Thing' } }],
    ['a sub-query of no class', { a: { $inQuery: { where: {} } } }],
    ['a sub-query of a class that is no text', { a: { $inQuery: { className: ['Thing'] } } }],
    ['a sub-query with more', { a: { $inQuery: { className: 'Thing', redirectClassNameForKey: 'b' } } }],
    ['a sub-query with a bad where', subQuery('x')],
    ['a sub-query with a bad skip', { a: { $inQuery: { className: 'Thing', skip: -1 } } }],
    ['a sub-query with a bad order', { a: { $inQuery: { className: 'Thing', order: ['a'] } } }],
    ['$select without a key', { a: { $select: { query: { className: 'Thing' } } } }],
    ['$select without a query', { a: { $select: { key: 'a' } } }],
    ['$select with more', { a: { $select: { query: { className: 'Thing' }, key: 'a', b: 1 } } }],
    ['$relatedTo without a key', { $relatedTo: { object: { __type: 'Pointer', className: 'A', objectId: 'b' } } }],
    [
      '$relatedTo with a path',
      { $relatedTo: { object: { __type: 'Pointer', className: 'A', objectId: 'b' }, key: 'a.b' } },
    ],
  ])('refuses %s', (_, where) => {
    expect(() => parseWhere(where)).toThrow(expect.objectContaining({ errorName: 'INVALID_QUERY' }) as Error);
  });

  it.each<[string, unknown]>([
    ['conditions', object(101)],
    ['conditions', { $or: repeat(101, (index) => ({ [`k${index}`]: 1 })) }],
    ['conditions', { $or: repeat(101, () => ({})) }],
    ['conditions', repeat(101, () => ({}))],
    ['conditions', { $and: repeat(51, () => ({ a: { $gt: 1, $lt: 2 } })) }],
    ['conditions', [subQuery(object(60)), object(60)]],
    ['nested', nested(9)],
    ['nested', nested(9, '$nor')],
    ['nested', nested(5_000, '$or')],
    ['1000 values', { a: { $in: repeat(1_001, (index) => index) } }],
    ['1000 values', { a: { $nin: repeat(1_001, (index) => index) } }],
    ['1000 values', { a: { $all: repeat(1_001, (index) => index) } }],
    ['8 parts', { 'a.b.c.d.e.f.g.h.i': 1 }],
    ['256 characters', { [`a.${'b'.repeat(255)}`]: 1 }],
    ['5 sub-queries', repeat(6, () => subQuery({}))],
    ['Sub-queries may be nested at most 2', subQueries(3)],
    [
      'order may have at most 10',
      { a: { $inQuery: { className: 'Thing', order: repeat(11, (index) => `k${index}`).join(',') } } },
    ],
    ['256 parts', { a: { $regex: 'a'.repeat(257) } }],
    ['nested at most 32', { a: repeat(40, () => 0).reduce<JsonValue>((inner) => [inner], 1) }],
  ])('names the exceeded limit: %s', (bound, where) => {
    expect(() => parseWhere(where)).toThrow(
      expect.objectContaining({
        errorName: 'INVALID_QUERY',
        message: expect.stringContaining(bound) as string,
      }) as Error,
    );
  });

  it.each<[string, unknown]>([
    ['100 conditions', object(100)],
    ['8 levels', nested(8)],
    ['1000 values', { a: { $in: repeat(1_000, (index) => index) } }],
    ['8 parts', { 'a.b.c.d.e.f.g.h': 1 }],
    ['5 sub-queries', repeat(5, () => subQuery({}))],
    ['2 nested sub-queries', subQueries(2)],
    ['256 parts of a pattern', { a: { $regex: `^\\Q${'.'.repeat(255)}\\E` } }],
  ])('takes %s', (_, where) => {
    expect(() => parseWhere(where)).not.toThrow();
  });

  it.each<[string, unknown, string]>([
    ['a pointer without an id', { a: { __type: 'Pointer', className: 'Thing' } }, 'MALFORMED_POINTER'],
    ['a pointer in a list', { a: { $in: [{ __type: 'Pointer', className: 1, objectId: 'x' }] } }, 'MALFORMED_POINTER'],
    ['$relatedTo without an object', { $relatedTo: { key: 'a' } }, 'MALFORMED_POINTER'],
    ['$relatedTo of text', { $relatedTo: { object: 'a', key: 'a' } }, 'MALFORMED_POINTER'],
    ['a place beyond the pole', { a: { $nearSphere: place(91, 0) } }, 'GEO_POINT_QUERY'],
    ['a place that is none', { a: { $nearSphere: [1, 2] } }, 'GEO_POINT_QUERY'],
    ['a corner that is none', { a: { $within: { $box: [place(0, 0), place(0, 181)] } } }, 'GEO_POINT_QUERY'],
    ['a box upside down', { a: { $within: { $box: [place(1, 0), place(0, 1)] } } }, 'GEO_POINT_QUERY'],
  ])('names the problem of %s', (_, where, errorName) => {
    expect(() => parseWhere(where)).toThrow(expect.objectContaining({ errorName }) as Error);
  });

  it.each([
    "a'",
    'a"',
    'a b',
    '',
    '_a',
    '1a',
    'a.',
    '.a',
    'a..b',
    'a."b',
    "a.b'",
    'a.b c',
    'a.*',
    'a.b[0]',
    'a.b)',
    'a.constructor',
    '__proto__',
    'a\0',
    'a.\ud800',
    'ä',
  ])('rejects the field %j everywhere', (name) => {
    const error = expect.objectContaining({ errorName: 'INVALID_KEY_NAME' }) as Error;
    const wheres = [
      JSON.parse(`{${JSON.stringify(name)}: 1}`),
      { $or: [JSON.parse(`{${JSON.stringify(name)}: {"$gt": 1}}`)] },
      { a: { $inQuery: { className: 'Thing', order: `-${name}x'` } } },
      { a: { $select: { query: { className: 'Thing' }, key: name } } },
    ] as unknown[];
    for (const where of wheres) expect(() => parseWhere(where)).toThrow(error);
  });
});

describe('parseOrder', () => {
  it('parses names and paths with and without a minus', () => {
    expect(parseOrder(' name, -createdAt ,,-a.b.0')).toEqual([
      { field: ['name'], direction: 'ASC' },
      { field: ['createdAt'], direction: 'DESC' },
      { field: ['a', 'b', '0'], direction: 'DESC' },
    ]);
    expect(parseOrder(undefined)).toEqual([]);
  });

  it.each(['name desc', 'name;', '--name', '-', '1a', 'a.b c', "a'", 'a NULLS FIRST', 'a.__proto__'])(
    'refuses %j',
    (order) => {
      expect(() => parseOrder(order)).toThrow(expect.objectContaining({ errorName: 'INVALID_KEY_NAME' }) as Error);
    },
  );

  it('rejects more than 10 keys', () => {
    expect(() => parseOrder(repeat(11, (index) => `k${index}`).join(','))).toThrow('order may have at most 10 keys.');
  });
});
