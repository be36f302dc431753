import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '#contracts';
import { changedRoots, parseChanges as parseEntries } from './change.js';

const parseChanges = (fields: JsonObject) => parseEntries(Object.entries(fields));

const pointer = (objectId: string): JsonObject => ({ __type: 'Pointer', className: '_User', objectId });
const own = (json: string) => JSON.parse(json) as JsonObject;
const nested = (depth: number): JsonValue => (depth === 0 ? {} : { a: nested(depth - 1) });

describe('parseChanges', () => {
  it.each<[JsonValue, unknown]>([
    ['red', { kind: 'set', value: 'red' }],
    [null, { kind: 'set', value: null }],
    [{ a: [1] }, { kind: 'set', value: { a: [1] } }],
    [
      { __type: 'Date', iso: '2026-01-02' },
      { kind: 'set', value: { __type: 'Date', iso: '2026-01-02T00:00:00.000Z' } },
    ],
    [{ __op: 'Delete' }, { kind: 'delete' }],
    [{ __op: 'Delete', delete: true }, { kind: 'delete' }],
    [
      { __op: 'Increment', amount: 2 },
      { kind: 'increment', amount: 2 },
    ],
    [
      { __op: 'Decrement', amount: 2.5 },
      { kind: 'increment', amount: -2.5 },
    ],
    [
      { __op: 'Add', objects: [1, { a: 2 }] },
      { kind: 'add', objects: [1, { a: 2 }] },
    ],
    [
      { __op: 'AddUnique', objects: [{ ...pointer('a1'), username: 'ada' }] },
      { kind: 'addUnique', objects: [pointer('a1')] },
    ],
    [
      { __op: 'Remove', objects: [] },
      { kind: 'remove', objects: [] },
    ],
    [
      { __op: 'BitAnd', value: 6 },
      { kind: 'bits', operator: 'and', value: 6 },
    ],
    [
      { __op: 'BitOr', value: -1 },
      { kind: 'bits', operator: 'or', value: -1 },
    ],
    [
      { __op: 'BitXor', value: 0 },
      { kind: 'bits', operator: 'xor', value: 0 },
    ],
  ])('reads %j', (value, operation) => {
    expect(parseChanges({ field: value })).toEqual({ values: [{ path: ['field'], operation }], relations: [] });
    expect(parseChanges({ 'a.b.0': value }).values).toEqual([{ path: ['a', 'b', '0'], operation }]);
  });

  it('parses a Batch into its operations, in order', () => {
    const ops = [{ __op: 'Increment', amount: 1 }, { __op: 'Delete' }, { __op: 'BitOr', value: 4 }];
    expect(parseChanges({ x: { __op: 'Batch', ops } }).values.map(({ operation }) => operation.kind)).toEqual([
      'increment',
      'delete',
      'bits',
    ]);
  });

  it('separates changes of relations, also those of a Batch', () => {
    const ops = [
      { __op: 'AddRelation', objects: [{ ...pointer('a1'), __type: 'Object', username: 'ada' }] },
      { __op: 'RemoveRelation', objects: [pointer('b2')] },
    ];
    expect(parseChanges({ name: 'x', users: { __op: 'Batch', ops } })).toEqual({
      values: [{ path: ['name'], operation: { kind: 'set', value: 'x' } }],
      relations: [
        { field: 'users', kind: 'addRelation', objects: [{ className: '_User', objectId: 'a1' }] },
        { field: 'users', kind: 'removeRelation', objects: [{ className: '_User', objectId: 'b2' }] },
      ],
    });
  });

  it.each<[JsonValue, string]>([
    [{ __op: 'Explode' }, 'INCORRECT_TYPE'],
    [{ __op: 'delete' }, 'INCORRECT_TYPE'],
    [{ __op: '__proto__' }, 'INCORRECT_TYPE'],
    [{ __op: 'constructor' }, 'INCORRECT_TYPE'],
    [{ __op: null }, 'INCORRECT_TYPE'],
    [{ __op: {} }, 'INCORRECT_TYPE'],
    [{ __op: ['Delete'] }, 'INCORRECT_TYPE'],
    [{ a: { __op: 'Delete' } }, 'INCORRECT_TYPE'],
    [[{ __op: 'Delete' }], 'INCORRECT_TYPE'],
    ...[undefined, null, '1', true, [1], Number.POSITIVE_INFINITY, Number.NaN].flatMap(
      (amount): [JsonValue, string][] => [
        [{ __op: 'Increment', amount } as JsonObject, 'INCORRECT_TYPE'],
        [{ __op: 'Decrement', amount } as JsonObject, 'INCORRECT_TYPE'],
      ],
    ),
    ...['Add', 'AddUnique', 'Remove'].flatMap((name): [JsonValue, string][] => [
      [{ __op: name }, 'INCORRECT_TYPE'],
      [{ __op: name, objects: null }, 'INCORRECT_TYPE'],
      [{ __op: name, objects: 'x' }, 'INCORRECT_TYPE'],
      [{ __op: name, objects: { 0: 'x' } }, 'INCORRECT_TYPE'],
      [{ __op: name, objects: ['\0'] }, 'INCORRECT_TYPE'],
      [{ __op: name, objects: [{ __op: 'Delete' }] }, 'INCORRECT_TYPE'],
      [{ __op: name, objects: [{ $gt: 1 }] }, 'INVALID_NESTED_KEY'],
      [{ __op: name, objects: [{ __type: 'Pointer' }] }, 'MALFORMED_POINTER'],
      [{ __op: name, objects: [own('{"__proto__":1}')] }, 'INVALID_KEY_NAME'],
    ]),
    ...['BitAnd', 'BitOr', 'BitXor'].flatMap((name): [JsonValue, string][] => [
      [{ __op: name }, 'INCORRECT_TYPE'],
      [{ __op: name, value: '1' }, 'INCORRECT_TYPE'],
      [{ __op: name, value: 1.5 }, 'INCORRECT_TYPE'],
      [{ __op: name, value: 2 ** 53 }, 'INCORRECT_TYPE'],
    ]),
    ...['AddRelation', 'RemoveRelation'].flatMap((name): [JsonValue, string][] => [
      [{ __op: name }, 'INVALID_RELATION'],
      [{ __op: name, objects: [] }, 'INVALID_RELATION'],
      [{ __op: name, objects: pointer('a') }, 'INVALID_RELATION'],
      [{ __op: name, objects: Array.from({ length: 1001 }, () => pointer('a')) }, 'INVALID_RELATION'],
      [{ __op: name, objects: ['a1'] }, 'MALFORMED_POINTER'],
      [{ __op: name, objects: [pointer('role:x')] }, 'MALFORMED_POINTER'],
    ]),
    [{ __op: 'Batch' }, 'INCORRECT_TYPE'],
    [{ __op: 'Batch', ops: [] }, 'INCORRECT_TYPE'],
    [{ __op: 'Batch', ops: { 0: { __op: 'Delete' } } }, 'INCORRECT_TYPE'],
    [{ __op: 'Batch', ops: ['x'] }, 'INCORRECT_TYPE'],
    [{ __op: 'Batch', ops: [null] }, 'INCORRECT_TYPE'],
    [{ __op: 'Batch', ops: [{ __op: 'Delete' }, { __op: 'Explode' }] }, 'INCORRECT_TYPE'],
    [{ __op: 'Batch', ops: [{ __op: 'Batch', ops: [{ __op: 'Delete' }] }] }, 'INCORRECT_TYPE'],
    [{ __op: 'Batch', ops: Array.from({ length: 11 }, () => ({ __op: 'Delete' })) }, 'INCORRECT_TYPE'],
    [{ __op: 'Batch', ops: [{ __op: 'Add', objects: [own('{"__proto__":1}')] }] }, 'INVALID_KEY_NAME'],
  ])('refuses %.100j with %s', (value, errorName) => {
    expect(() => parseChanges({ field: value })).toThrow(expect.objectContaining({ errorName }) as Error);
  });

  it.each([
    ['', 'INVALID_KEY_NAME'],
    ['.', 'INVALID_KEY_NAME'],
    ['.a', 'INVALID_KEY_NAME'],
    ['a.', 'INVALID_KEY_NAME'],
    ['a..b', 'INVALID_KEY_NAME'],
    ['_a.b', 'INVALID_KEY_NAME'],
    ['1.a', 'INVALID_KEY_NAME'],
    ['$a', 'INVALID_KEY_NAME'],
    ['__proto__', 'INVALID_KEY_NAME'],
    ['__proto__.x', 'INVALID_KEY_NAME'],
    ['constructor.prototype.x', 'INVALID_KEY_NAME'],
    ['a.__proto__.x', 'INVALID_KEY_NAME'],
    ['a.constructor', 'INVALID_KEY_NAME'],
    ['a.b.prototype', 'INVALID_KEY_NAME'],
    ['a.__type', 'INVALID_KEY_NAME'],
    ['a.__op', 'INVALID_KEY_NAME'],
    ['a.\0', 'INVALID_KEY_NAME'],
    ['a.\ud800', 'INVALID_KEY_NAME'],
    ['a.$set', 'INVALID_NESTED_KEY'],
    ['a.b$', 'INVALID_NESTED_KEY'],
    ['a.b.c.d.e.f.g.h.i', 'INVALID_KEY_NAME'],
    [`a${'.a'.repeat(100_000)}`, 'INVALID_KEY_NAME'],
  ])('rejects the key %.40j with %s', (key, errorName) => {
    for (const value of [1, { __op: 'Delete' }, { __op: 'Increment', amount: 1 }]) {
      expect(() => parseChanges({ [key]: value })).toThrow(expect.objectContaining({ errorName }) as Error);
    }
  });

  it('accepts eight levels, and members that are not valid field names', () => {
    expect(parseChanges({ 'a.b.c.d.e.f.g.h': 1, 'x.ä ö-1._y': 2 }).values.map(({ path }) => path)).toEqual([
      ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'],
      ['x', 'ä ö-1', '_y'],
    ]);
  });

  it.each([
    { a: 1, 'a.b': 2 },
    { 'a.b': 2, a: 1 },
    { 'a.b.c.d': 1, x: 1, 'a.b': { __op: 'Delete' } },
    { 'a.0': 1, a: { __op: 'Add', objects: [1] } },
    { 'a.0.b': 1, 'a.0': 1 },
  ])('rejects a value and its part in one write: %j', (fields) => {
    expect(() => parseChanges(fields)).toThrow(expect.objectContaining({ errorName: 'INVALID_KEY_NAME' }) as Error);
  });

  it('accepts siblings in one write', () => {
    expect(parseChanges({ 'a.b': 1, 'a.bc': 2, ab: 3, 'a.c.b': 4 }).values).toHaveLength(4);
  });

  it('counts the levels of a path as levels of the field', () => {
    expect(() => parseChanges({ 'a.b': nested(31) })).not.toThrow();
    expect(() => parseChanges({ 'a.b': nested(32) })).toThrow();
    expect(() => parseChanges({ a: { __op: 'Add', objects: [nested(31)] } })).not.toThrow();
    expect(() => parseChanges({ a: { __op: 'Add', objects: [nested(32)] } })).toThrow();
  });

  it('rejects relations inside a field', () => {
    const add = { __op: 'AddRelation', objects: [pointer('a1')] };
    expect(() => parseChanges({ 'a.users': add })).toThrow(
      expect.objectContaining({ errorName: 'INCORRECT_TYPE' }) as Error,
    );
  });

  it.each<[JsonValue, string]>([
    [{ __op: 'Explode' }, 'score: Unknown operation.'],
    [{ __type: 'Pointer', className: 'Post' }, 'score: Malformed pointer.'],
    [{ $inc: 1 }, "score: Nested keys must not contain '$' or '.'."],
  ])('names the field in its error about %j', (value, text) => {
    expect(() => parseChanges({ 'score.total': value })).toThrow(text);
  });
});

describe('changedRoots', () => {
  it('names each field once', () => {
    expect(changedRoots({ color: 1, 'address.city': 2, 'address.zip': { __op: 'Delete' } })).toEqual([
      'color',
      'address',
    ]);
  });
});
