import { describe, expect, it } from 'vitest';
import { appError } from '#errors';
import { compileCondition, compileCount, compileFind } from './compile.js';
import { parseOrder } from './parse-values.js';
import { parseWhere } from './parse.js';
import type { QueryClass, QueryScope } from './query.js';

const things: QueryClass = {
  className: 'Thing',
  table: 'things',
  columns: new Map([
    ['objectId', { sql: 'id', type: 'text' }],
    ['name', { sql: 'name', type: 'text', isUnique: true }],
    ['isOpen', { sql: 'is_open', type: 'boolean', isNullable: true }],
    ['createdAt', { sql: 'created_at', type: 'date' }],
  ]),
  relations: new Map(),
  hidden: new Set(['secret', 'authData']),
  appColumn: 'app',
  idColumn: 'id',
  jsonColumn: 'fields',
  aclColumn: 'acl',
  defaultOrderColumn: 'created_at',
};
const shelves: QueryClass = {
  ...things,
  className: 'Shelf',
  table: 'shelves',
  columns: new Map([['title', { sql: 'title', type: 'text' }]]),
  relations: new Map([
    [
      'things',
      { className: 'Thing', table: 'shelf_things', appColumn: 'app', ownerColumn: 'shelf', memberColumn: 'thing' },
    ],
  ]),
  hidden: new Set(['key']),
};
const scope: QueryScope = {
  appId: 'app',
  grantees: 'master',
  classOf: (className) => {
    const found = [things, shelves].find((each) => each.className === className);
    if (found === undefined) throw appError('NOT_FOUND');
    return found;
  },
};

const compile = (where: unknown, order = '', rest: { limit?: number; skip?: number } = {}) =>
  compileFind({ where: parseWhere(where), order: parseOrder(order), ...rest }, things, scope);
const pointer = (className: string) => ({ __type: 'Pointer', className, objectId: 'evil' });
const evil = "evil'; DROP TABLE users; --";

/** Undefined where the query is rejected with INVALID_QUERY. */
function orRefused<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    expect(error).toMatchObject({ errorName: 'INVALID_QUERY' });
    return undefined;
  }
}

describe('compileFind', () => {
  it('binds all values of a query as parameters', () => {
    const inner = { className: 'Shelf', where: { evilfield: evil, title: evil }, order: '-evilorder' };
    const where = {
      name: { $in: [evil, 'b'], $gt: evil, $regex: `\\Q${evil}\\E` },
      evilfield: {
        $ne: evil,
        $all: [evil, { evil }],
        $nin: [{ evil }],
        $lt: evil,
        $size: 6543,
        $regex: 'evil',
        $exists: true,
      },
      'evil.evil.0': { $in: [evil, [evil]], $ne: null },
      'evil.evil': { $gt: { __type: 'Date', iso: '2026-01-01' }, $in: [evil] },
      evilplace: {
        $nearSphere: { __type: 'GeoPoint', latitude: 65.43, longitude: 65.43 },
        $maxDistance: 65.43,
        $within: {
          $box: [65.43, 65.44].map((degrees) => ({ __type: 'GeoPoint', latitude: degrees, longitude: degrees })),
        },
      },
      evilpointer: { $inQuery: inner, $select: { query: inner, key: 'evil.key' } },
      $relatedTo: { object: pointer('Shelf'), key: 'things' },
    };
    const {
      where: condition,
      orderBy,
      limit,
      parameters,
    } = compile(where, 'evilorder,-evil.order,name', { limit: 6543, skip: 6544 });
    const sql = [condition, orderBy, limit].join(' ');
    expect(sql).not.toMatch(/evil|DROP|65\.?4/);
    expect(parameters.length).toBeGreaterThan(50);
    const used = new Set([...sql.matchAll(/\$(\d+)/g)].map(([, index]) => Number(index)));
    expect([...used].sort((a, b) => a - b)).toEqual(parameters.map((_, index) => index + 1));
  });

  it.each<[unknown, string, unknown[]]>([
    [{}, 'TRUE', []],
    [{ name: 'x' }, 'name = $2', ['x']],
    [{ name: null }, 'name IS NULL', []],
    [{ name: 7 }, 'FALSE', []],
    [{ name: { $ne: 'x' } }, '(name = $2) IS NOT TRUE', ['x']],
    [{ name: { $in: ['x', 'y', 7, null] } }, '(name = ANY ($2::text[]) OR name IS NULL)', [['x', 'y']]],
    [{ name: { $gt: 'x' } }, 'name COLLATE "C" > $2', ['x']],
    [{ name: { $regex: '^\\Qx\\E' } }, 'name COLLATE "C" ~ $2', ['***:^x']],
    [{ name: { $regex: 'x', $options: 'i' } }, 'name COLLATE pg_catalog."default" ~ $2', ['***:(?i)x']],
    [{ isOpen: 'true' }, 'FALSE', []],
    [{ createdAt: 'yesterday' }, 'FALSE', []],
    [{ createdAt: '2026-01-01' }, 'created_at = $2', ['2026-01-01T00:00:00.000Z']],
    [
      { a: { $gte: 5 } },
      'jsonb_path_exists(fields, $2::jsonpath, $3::jsonb)',
      ['lax $."a"? (@.type() != "array" && @ >= $value)', '{"value":5}'],
    ],
    [{ $or: [{ name: 'x' }, { name: 'y' }] }, '(name = $2 OR name = $3)', ['x', 'y']],
    [{ name: 'x', isOpen: true }, '(name = $2 AND is_open = $3)', ['x', true]],
  ])('compiles %j', (where, sql, parameters) => {
    expect(compile(where)).toMatchObject({ where: `app = $1 AND ${sql}`, parameters: ['app', ...parameters] });
  });

  it.each([
    ['', 'created_at ASC, id ASC'],
    ['createdAt', 'created_at ASC, id ASC'],
    ['-createdAt', 'created_at DESC, id DESC'],
    ['isOpen,-name', 'is_open ASC NULLS FIRST, name COLLATE "C" DESC, id DESC'],
  ])('orders by %j, ending with the id so that pages neither overlap nor leave gaps', (order, orderBy) => {
    expect(compile({}, order).orderBy).toBe(orderBy);
  });

  const place = { __type: 'GeoPoint', latitude: 1, longitude: 2 };
  const thing = { __type: 'Pointer', className: 'Thing', objectId: 'a' };
  const operations: object[] = [
    { $in: [] },
    { $in: [1, 'a', true, null, [1], { a: 1 }, thing] },
    { $nin: [null] },
    { $all: [] },
    { $all: [1, 'a', [null]] },
    { $all: [thing, thing] },
    { $all: [null] },
    { $gt: 1 },
    { $lt: 'a' },
    { $gte: { __type: 'Date', iso: '2026-01-01' } },
    { $exists: false },
    { $size: 1 },
    { $regex: 'a', $options: 'i' },
    { $nearSphere: place },
    { $nearSphere: place, $maxDistance: 1 },
    { $within: { $box: [place, place] } },
    {
      $inQuery: { className: 'Thing', where: { a: { $notInQuery: { className: 'Shelf', where: { things: thing } } } } },
    },
    { $dontSelect: { key: 'a.0', query: { className: 'Shelf', skip: 1 } } },
    { $select: { key: 'title', query: { className: 'Shelf' } } },
  ];
  const fields = ['name', 'isOpen', 'createdAt', 'a', 'a.b', 'a.0', 'a.0.b', 'a.b.0.c.d', 'things'];

  it.each(fields)('uses every bound parameter for all tests of %s', (field) => {
    for (const queryClass of [things, shelves]) {
      for (const operation of operations) {
        const query = { where: parseWhere([{ [field]: operation }, { b: 1 }]), order: parseOrder('-a.0.b,name') };
        const compiled = orRefused(() => compileFind(query, queryClass, { ...scope, grantees: ['*'] }));
        if (compiled === undefined) continue;
        const used = new Set([compiled.where, compiled.orderBy].join(' ').match(/\$\d+/g));
        expect([...used].sort()).toEqual(compiled.parameters.map((_, index) => `$${index + 1}`).sort());
      }
    }
  });

  it.each<[object, string[]]>([
    [{ a: 1 }, ['{"a":1}', '{"a":[1]}']],
    [{ a: { $in: [1, { b: 2 }] } }, ['{"a":1}', '{"a":[1]}', '{"a":{"b":2}}', '{"a":[{"b":2}]}']],
    [{ 'a.b': 'x' }, ['{"a":{"b":"x"}}', '{"a":{"b":["x"]}}', '{"a":[{"b":"x"}]}', '{"a":[{"b":["x"]}]}']],
    [{ 'a.0': 1 }, ['{"a":{"0":1}}', '{"a":{"0":[1]}}', '{"a":[1]}', '{"a":[[1]]}']],
  ])('uses an index look-up of documents with %j', (where, documents) => {
    const { where: sql, parameters } = compile(where);
    expect(sql).toMatch(
      /^app = \$1 AND \(fields @> ANY \(\$2::jsonb\[\]\) AND EXISTS \(.*item = ANY \(\$\d::jsonb\[\]\)\)\)$/,
    );
    expect([...(parameters[1] as string[])].sort()).toEqual([...documents].sort());
  });

  it('uses the index for equality on the deepest path, and omits it where there are too many look-ups', () => {
    const manyOf = (path: string, count: number) => ({
      [path]: { $in: Array.from({ length: count }, (_, index) => index) },
    });
    for (const where of [{ 'a.b.c.d.e.f.g.h': 1 }, manyOf('a', 128)])
      expect(compile(where).where).toContain('fields @> ANY');
    for (const where of [manyOf('a.b.c.d.e.f.g.h', 2), manyOf('a', 129)])
      expect(compile(where).where).not.toContain('@>');
    const { parameters } = compile(Array.from({ length: 99 }, () => manyOf('a', 100)));
    expect(JSON.stringify(parameters).length).toBeLessThan(200_000);
  });

  it('looks up the entries of an ACL among the many roles of a caller, instead of each role in each ACL', () => {
    const roles = Array.from({ length: 100 }, (_, index) => `role:r${index}`);
    const compiled = compileFind({ where: parseWhere({}), order: [] }, things, { ...scope, grantees: roles });
    expect(compiled.where).not.toContain('ANY');
    expect(compiled.parameters).toEqual(['app', JSON.stringify(Object.fromEntries(roles.map((role) => [role, true])))]);
  });

  it('restricts the rows, and those of every sub-query, to the application and to what one of the grantees may read', () => {
    const where = {
      a: { $inQuery: { className: 'Shelf', where: { b: { $select: { query: { className: 'Thing' }, key: 'c' } } } } },
    };
    const query = { where: parseWhere(where), order: [] };
    const { where: sql, parameters } = compileFind(query, things, { ...scope, grantees: ['*', 'role:"x'] });
    const readable = /app = \$(\d+) AND \(acl IS NULL OR acl @> ANY \(\$(\d+)::jsonb\[\]\)\)/g;
    const places = [...sql.matchAll(readable)].map(([, app, acl]) => [
      parameters[Number(app) - 1],
      parameters[Number(acl) - 1],
    ]);
    const grants = ['{"*":{"read":true}}', String.raw`{"role:\"x":{"read":true}}`];
    expect(places).toEqual([
      ['app', grants],
      ['app', grants],
      ['app', grants],
    ]);
  });

  it.each<[boolean, unknown]>([
    [true, { name: 'a' }],
    [true, { name: { $in: ['a'] } }],
    [true, { $and: [{ name: 'a' }] }],
    [false, {}],
    [false, { name: null }],
    [false, { name: 7 }],
    [false, { name: { $in: ['a', 'b'] } }],
    [false, { name: { $ne: 'a' } }],
    [false, { name: { $regex: '^a' } }],
    [false, { name: 'a', isOpen: true }],
    [false, { $or: [{ name: 'a' }, { name: 'b' }] }],
    [false, { isOpen: true }],
    [false, { custom: 'a' }],
  ])('recognises %s as a look-up of one row: %j', (isLookUp, where) => {
    expect(compile(where).isLookUp).toBe(isLookUp);
  });

  it('shows only objects without ACL to a caller without grants', () => {
    const { parameters } = compileFind({ where: parseWhere({}), order: [] }, things, { ...scope, grantees: [] });
    expect(parameters).toEqual(['app', []]);
  });

  const inShelf = (query: object) => ({ a: { $inQuery: { className: 'Shelf', ...query } } });
  it.each<[string, unknown, string?]>([
    ['where', { secret: 'x' }],
    ['where, asking for nothing', { secret: null }],
    ['an operator', { secret: { $regex: '^a' } }],
    ['$exists', { secret: { $exists: false } }],
    ['an empty $in', { secret: { $in: [] } }],
    ['a path', { 'authData.weixin.openid': 'x' }],
    ['$or', { $or: [{ a: 1 }, { secret: 'x' }] }],
    ['$nor', { $nor: [{ $and: [{ secret: { $lt: 'x' } }] }] }],
    ['a list', [{ a: 1 }, { secret: 'x' }]],
    ['order', {}, 'secret'],
    ['order by a path', {}, 'a,-authData.weixin'],
    ['the where of a sub-query', inShelf({ where: { key: 'x' } })],
    ['the order of a sub-query', inShelf({ order: '-key' })],
    ['the key of $select', { a: { $select: { query: { className: 'Shelf' }, key: 'key' } } }],
    ['the key of $dontSelect', { name: { $dontSelect: { query: { className: 'Thing' }, key: 'secret.a' } } }],
    ['$nearSphere', { secret: { $nearSphere: { __type: 'GeoPoint', latitude: 1, longitude: 1 } } }],
  ])('refuses hidden fields in %s', (_, where, order) => {
    expect(() => compile(where, order)).toThrow(
      expect.objectContaining({
        errorName: 'INVALID_QUERY',
        message: expect.stringMatching(/cannot be queried/) as string,
      }) as Error,
    );
  });

  it.each<[string, unknown, string?]>([
    ['parts of a column', { 'name.length': 1 }],
    ['order by parts of a column', {}, 'createdAt.iso'],
    ['what is near a column', { name: { $nearSphere: { __type: 'GeoPoint', latitude: 1, longitude: 1 } } }],
    ['a relation that is none', { $relatedTo: { object: pointer('Shelf'), key: 'title' } }],
    ['a relation of a class without', { $relatedTo: { object: pointer('Thing'), key: 'things' } }],
    ['the order of a relation', inShelf({ order: 'things' })],
    ['the value of a relation', { a: { $select: { query: { className: 'Shelf' }, key: 'things' } } }],
    ['parts of a relation', inShelf({ where: { 'things.name': 'x' } })],
    ['pointers of a column', { name: { $inQuery: { className: 'Shelf' } } }],
    ['objects of another class in a relation', inShelf({ where: { things: { $inQuery: { className: 'Shelf' } } } })],
    ['the size of a relation', inShelf({ where: { things: { $size: 1 } } })],
    ['a relation by comparison', inShelf({ where: { things: { $gt: 'x' } } })],
  ])('refuses %s', (_, where, order) => {
    expect(() => compile(where, order)).toThrow(expect.objectContaining({ errorName: 'INVALID_QUERY' }) as Error);
  });

  it('asks the scope for every class that is named', () => {
    for (const where of [
      inShelf({ className: 'Other' }),
      { $relatedTo: { object: pointer('Other'), key: 'things' } },
    ]) {
      expect(() => compile(where)).toThrow(expect.objectContaining({ errorName: 'NOT_FOUND' }) as Error);
    }
  });
});

describe('compileCount', () => {
  it('binds nothing but the condition', () => {
    expect(compileCount(parseWhere({ name: 'x' }), things, scope)).toEqual({
      from: 'things',
      isIndexed: false,
      sql: 'app = $1 AND name = $2',
      parameters: ['app', 'x'],
    });
  });
});

describe('compileCondition', () => {
  it('follows the parameters that are there, and asks for the condition alone', () => {
    const caller = { ...scope, grantees: ['*'] };
    expect(compileCondition(parseWhere({ name: 'x' }), things, caller, ['app', 'id'])).toEqual({
      sql: 'name = $3',
      parameters: ['app', 'id', 'x'],
    });
  });
});
