import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '#contracts';
import { AppError } from '#errors';
import { parseWrites, resultsById } from './batch-save.js';

const ID = 'a'.repeat(24);
const NOTHING_ELSE = { children: [], returnNew: false };

const parseOne = (request: JsonValue) => parseWrites({ requests: [request] })[0];

function codeOf(body: JsonObject): number | undefined {
  try {
    parseWrites(body);
    return undefined;
  } catch (error) {
    if (error instanceof AppError) return error.code;
    throw error;
  }
}

describe('parseWrites', () => {
  it.each([
    ['/1.1/users', '_User'],
    ['/1.1/classes/_User', '_User'],
    ['/1.1/roles', '_Role'],
    ['/1.1/classes/_Role', '_Role'],
    ['/1.1/installations', '_Installation'],
    ['/1.1/classes/_Installation', '_Installation'],
  ])('reads a new object and a change below %s', (path, className) => {
    expect(parseOne({ method: 'POST', path, body: { __internalId: 'client-1', level: 1 } })).toEqual({
      ...NOTHING_ELSE,
      className,
      internalId: 'client-1',
      fields: { level: 1 },
    });
    expect(parseOne({ method: 'PUT', path: `${path}/${ID}`, body: { __internalId: ID, level: 1 } })).toEqual({
      ...NOTHING_ELSE,
      className,
      objectId: ID,
      internalId: ID,
      fields: { level: 1 },
    });
  });

  it('takes the id of an object for its internal one where there is none', () => {
    expect(parseOne({ method: 'PUT', path: `/1.1/users/${ID}` })).toMatchObject({ internalId: ID, fields: {} });
  });

  it('reads the ways to ask for the changed fields, and a condition', () => {
    const put = { method: 'PUT', path: `/1.1/users/${ID}` };
    expect(parseOne({ ...put, new: true })).toMatchObject({ returnNew: true });
    expect(parseOne({ ...put, params: { fetchWhenSave: true } })).toMatchObject({ returnNew: true });
    expect(parseOne({ ...put, path: `${put.path}?new=true` })).toMatchObject({ returnNew: true });
    expect(parseOne({ ...put, new: false, params: { new: 'false' } })).toMatchObject({ returnNew: false });
    expect(parseOne({ ...put, params: { where: { level: 1 } } })).toMatchObject({ where: { level: 1 } });
    expect(parseOne({ ...put, params: { where: '{"level":1}' } })).toMatchObject({ where: { level: 1 } });
  });

  it.each([
    ['Add', ['a', 'b']],
    ['AddUnique', ['a', 'b']],
    ['Remove', ['a']],
  ])('applies a later %s to the value that a new object begins with', (name, tags) => {
    const create = { method: 'POST', path: '/1.1/roles', body: { __internalId: 'one', tags: ['a'] } };
    const operation = { __op: name, objects: ['b'] };
    const change = { method: 'PUT', path: '/1.1/roles', body: { __internalId: 'one', tags: operation } };
    expect(parseWrites({ requests: [create, change] })).toMatchObject([{ fields: { tags } }]);
  });

  it('adds changes without an id to the new object of their internal id, as the SDK for Objective-C sends them', () => {
    const create = { method: 'POST', path: '/1.1/roles', body: { __internalId: 'one', name: 'editors' } };
    const change = (body: JsonObject, path = '/1.1/roles') => ({
      method: 'PUT',
      path,
      new: true,
      body: { __internalId: 'one', ...body },
    });
    const add: JsonObject = { __op: 'Add', objects: [1] };
    const remove: JsonObject = { __op: 'Remove', objects: [1] };
    const child = { className: '_User', cid: 'two', key: 'boss' };
    const requests = [
      create,
      change({ tags: add, __children: [child] }),
      change({ tags: remove, level: 1 }),
      change({ tags: add }),
    ];
    expect(parseWrites({ requests })).toEqual([
      {
        ...NOTHING_ELSE,
        className: '_Role',
        internalId: 'one',
        returnNew: true,
        fields: { name: 'editors', tags: { __op: 'Batch', ops: [add, remove, add] }, level: 1 },
        children: [child],
      },
    ]);
    expect(codeOf({ requests: [create, change({ name: 'other' })] })).toBe(107);
    expect(codeOf({ requests: [create, { ...change({}), params: { where: '{}' } }] })).toBe(107);
    expect(codeOf({ requests: [create, change({}, '/1.1/users')] })).toBe(101);
    expect(codeOf({ requests: [change({}), create] })).toBe(101);
  });

  it('reads the fields that become pointers to other objects', () => {
    const child = { className: '_User', cid: 'client-2', key: 'friend' };
    const body = { __internalId: 'client-1', __children: [child] };
    expect(parseOne({ method: 'POST', path: '/1.1/users', body })).toMatchObject({ children: [child], fields: {} });
  });

  it('lets an object be changed twice, but no two objects have one internal id', () => {
    const create = { method: 'POST', path: '/1.1/users', body: { __internalId: 'one' } };
    const change = { method: 'PUT', path: `/1.1/users/${ID}`, body: { __internalId: 'one' } };
    const other = { ...change, path: '/1.1/users/bbbb' };
    expect(codeOf({ requests: [change, change] })).toBeUndefined();
    for (const requests of [
      [create, create],
      [create, change],
      [change, create],
      [change, other],
    ])
      expect(codeOf({ requests })).toBe(107);
  });

  it.each<[string, JsonValue]>([
    ['is no object', null],
    ['is a list', []],
    ['has no path', { method: 'POST', body: { __internalId: 'a' } }],
    ['has a path that is no text', { method: 'POST', path: ['/1.1/users'], body: { __internalId: 'a' } }],
    ['has no method', { path: '/1.1/users', body: { __internalId: 'a' } }],
    ['deletes', { method: 'DELETE', path: `/1.1/users/${ID}` }],
    ['reads', { method: 'GET', path: `/1.1/users/${ID}` }],
    ['has a body that is none', { method: 'PUT', path: `/1.1/users/${ID}`, body: [] }],
    ['has params that are none', { method: 'PUT', path: `/1.1/users/${ID}`, params: 'new=true' }],
    ['makes an object without an internal id', { method: 'POST', path: '/1.1/users', body: {} }],
    ['has an internal id that is no text', { method: 'POST', path: '/1.1/users', body: { __internalId: 1 } }],
    ['has an empty internal id', { method: 'POST', path: '/1.1/users', body: { __internalId: '' } }],
    ['has a long internal id', { method: 'POST', path: '/1.1/users', body: { __internalId: 'i'.repeat(129) } }],
    ['has children that are no list', { method: 'PUT', path: `/1.1/users/${ID}`, body: { __children: {} } }],
    ['has a child without a cid', { method: 'PUT', path: `/1.1/users/${ID}`, body: { __children: [{ key: 'a' }] } }],
    ['has a child that is none', { method: 'PUT', path: `/1.1/users/${ID}`, body: { __children: ['a'] } }],
  ])('refuses a request that %s', (_, request) => {
    expect(codeOf({ requests: [request] })).toBe(107);
  });

  it.each([
    ['POST', `/1.1/users/${ID}`],
    ['PUT', '/1.1/users'],
    ['PUT', `/1.1/users/${ID}/updatePassword`],
    ['PUT', '/1.1/users/no!id'],
    ['POST', '/1.1/classes/No-Class'],
    ['POST', '/1.1/push'],
    ['POST', '/1.1/login'],
    ['POST', '/1.1/users/'],
    ['POST', 'users'],
    ['POST', ''],
    ['POST', '__proto__'],
  ])('knows no objects at %s %s', (method, path) => {
    expect(codeOf({ requests: [{ method, path, body: { __internalId: 'a' } }] })).toBe(101);
  });

  it('refuses what is no list of up to 100 requests, and takes an empty one', () => {
    const requests = Array.from({ length: 101 }, () => ({ method: 'PUT', path: `/1.1/users/${ID}` }));
    expect([codeOf({}), codeOf({ requests: {} }), codeOf({ requests })]).toEqual([107, 107, 107]);
    expect(codeOf({ requests: requests.slice(1) })).toBeUndefined();
    expect(parseWrites({ requests: [] })).toEqual([]);
  });
});

describe('resultsById', () => {
  it('puts the answers under the internal ids, those of one object together', () => {
    const results = [
      { internalId: 'a', result: { updatedAt: '1', level: 1 } },
      { internalId: 'b', result: { updatedAt: '1' } },
      { internalId: 'a', result: { updatedAt: '2', color: 'red' } },
    ];
    expect(resultsById(results)).toEqual({ a: { updatedAt: '2', level: 1, color: 'red' }, b: { updatedAt: '1' } });
  });

  it('holds whatever name an internal id has', () => {
    const result = resultsById([{ internalId: '__proto__', result: { level: 1 } }]);
    expect(JSON.stringify(result)).toBe('{"__proto__":{"level":1}}');
    expect(({} as { level?: number }).level).toBeUndefined();
  });
});
