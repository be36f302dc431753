import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '#contracts';
import { applyChanges } from './apply-changes.js';
import { parseChanges as parseEntries } from './change.js';

const parseChanges = (fields: JsonObject) => parseEntries(Object.entries(fields));

const apply = (document: JsonObject, fields: JsonObject) => applyChanges(document, parseChanges(fields).values);
const op = (name: string, rest: JsonObject = {}): JsonObject => ({ __op: name, ...rest });
const incorrectType = expect.objectContaining({ errorName: 'INCORRECT_TYPE' }) as Error;

const ada = { __type: 'Pointer', className: '_User', objectId: 'a1' };
const day = { __type: 'Date', iso: '2026-01-02T00:00:00.000Z' };
const MISSING = undefined;

/** operation, value before, value after; `MISSING` is a missing field. */
const fitting: [JsonObject, JsonValue | undefined, JsonValue | undefined][] = [
  [op('Delete'), MISSING, MISSING],
  [op('Delete'), null, MISSING],
  [op('Delete'), [1], MISSING],

  [op('Increment', { amount: 2 }), MISSING, 2],
  [op('Increment', { amount: 2 }), 1, 3],
  [op('Increment', { amount: 0.5 }), 1, 1.5],
  [op('Increment', { amount: -2 }), 1, -1],
  [op('Increment', { amount: 0 }), Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  [op('Increment', { amount: 1e300 }), 1e300, 2e300],
  [op('Decrement', { amount: 2 }), MISSING, -2],
  [op('Decrement', { amount: 2 }), 1, -1],

  [op('Add', { objects: [1, 1] }), MISSING, [1, 1]],
  [op('Add', { objects: [1, null] }), [1], [1, 1, null]],
  [op('Add', { objects: [] }), MISSING, []],

  [op('AddUnique', { objects: [1, 1, '1'] }), MISSING, [1, '1']],
  [op('AddUnique', { objects: [2, 3, 3] }), [1, 2, 1], [1, 2, 1, 3]],
  [op('AddUnique', { objects: [{ b: [2], a: 1 }] }), [{ a: 1, b: [2] }], [{ a: 1, b: [2] }]],
  [op('AddUnique', { objects: [{ a: 1 }] }), [{ a: 1, b: 2 }], [{ a: 1, b: 2 }, { a: 1 }]],
  [
    op('AddUnique', { objects: [[1, 2]] }),
    [[2, 1]],
    [
      [2, 1],
      [1, 2],
    ],
  ],
  [op('AddUnique', { objects: [{ ...ada, __type: 'Object', username: 'ada' }] }), [ada], [ada]],
  [op('AddUnique', { objects: [{ __type: 'Date', iso: '2026-01-02T08:00:00+08:00' }] }), [day], [day]],
  [op('AddUnique', { objects: [null, false, 0, ''] }), [], [null, false, 0, '']],

  [op('Remove', { objects: [1] }), MISSING, MISSING],
  [op('Remove', { objects: [1, 'x'] }), [1, 2, 1, '1'], [2, '1']],
  [op('Remove', { objects: [1] }), [1], []],
  [op('Remove', { objects: [{ b: 1, a: { d: 2, c: 3 } }] }), [{ a: { c: 3, d: 2 }, b: 1 }], []],
  [op('Remove', { objects: [{ ...ada, extra: 1 }, day] }), [day, ada, 1], [1]],

  [op('BitAnd', { value: 6 }), MISSING, 0],
  [op('BitOr', { value: 6 }), MISSING, 6],
  [op('BitXor', { value: 6 }), MISSING, 6],
  [op('BitAnd', { value: 6 }), 3, 2],
  [op('BitOr', { value: 6 }), 3, 7],
  [op('BitXor', { value: 6 }), 3, 5],
  [op('BitAnd', { value: -2 }), 7, 6],
  [op('BitOr', { value: 1 }), -2, -1],
  [op('BitXor', { value: 1 }), 2 ** 40, 2 ** 40 + 1],
  [op('BitOr', { value: 2 ** 31 }), 1, 2 ** 31 + 1],

  [op('Batch', { ops: [op('Increment', { amount: 1 }), op('Decrement', { amount: 3 })] }), 5, 3],
  [op('Batch', { ops: [op('Remove', { objects: [1] }), op('Add', { objects: [1, 2] })] }), [1, 3], [3, 1, 2]],
  [op('Batch', { ops: [op('Delete'), op('BitOr', { value: 4 }), op('Delete')] }), 'x', MISSING],
  [op('Batch', { ops: [op('Add', { objects: [1] }), op('Delete')] }), MISSING, MISSING],
];

/** Values that do not have the operation's type, null included. */
const unfitting: [JsonObject, JsonValue][] = [
  ...['Increment', 'Decrement'].flatMap((name) =>
    [null, '1', true, [], {}, day].map((value): [JsonObject, JsonValue] => [op(name, { amount: 1 }), value]),
  ),
  ...['Add', 'AddUnique', 'Remove'].flatMap((name) =>
    [null, 'x', 1, {}, { 0: 1 }, ada].map((value): [JsonObject, JsonValue] => [op(name, { objects: [1] }), value]),
  ),
  ...['BitAnd', 'BitOr', 'BitXor'].flatMap((name) =>
    [null, '1', 1.5, 1e300, [], {}].map((value): [JsonObject, JsonValue] => [op(name, { value: 1 }), value]),
  ),
  [op('Increment', { amount: 1 }), Number.MAX_SAFE_INTEGER],
  [op('Decrement', { amount: 1 }), Number.MIN_SAFE_INTEGER],
  [op('Increment', { amount: 1.7e308 }), 1.7e308],
  [op('Increment', { amount: 1 }), 2 ** 53],
  [op('Increment', { amount: 3 }), 1e17],
  [op('Increment', { amount: 0.5 }), 2 ** 53],
  [op('BitXor', { value: -1 }), Number.MAX_SAFE_INTEGER],
  [op('Batch', { ops: [op('Increment', { amount: 1 }), op('Add', { objects: [1] })] }), 1],
];

describe.each(['field', 'outer.inner', 'list.0'])('applyChanges to %s', (key) => {
  const [field = '', member] = key.split('.');
  const holding = (value: JsonValue | undefined): JsonObject => {
    const inner = value === undefined ? {} : { [member ?? '']: value };
    if (member === undefined) return value === undefined ? { other: 1 } : { other: 1, [field]: value };
    return { other: 1, [field]: member === '0' ? Object.values(inner) : { other: 2, ...inner } };
  };
  const isOfList = member === '0';

  it.each(isOfList ? fitting.filter(([, before, after]) => before !== MISSING && after !== MISSING) : fitting)(
    '%j turns %j into %j',
    (operation, before, after) => {
      expect(apply(holding(before), { [key]: operation })).toEqual(holding(after));
    },
  );

  it.each(unfitting)('%j is rejected for %j, without changes', (operation, before) => {
    const document = holding(before);
    expect(() => apply(document, { first: 1, [key]: operation })).toThrow(incorrectType);
    expect(document).toEqual(holding(before));
  });

  it('sets a value', () => {
    expect(apply(holding(1), { [key]: { a: 1 } })).toEqual(holding({ a: 1 }));
  });
});

describe('applyChanges along a path', () => {
  it.each([0, false, '', null])('makes the objects above a path for the value %j', (value) => {
    expect(apply({}, { 'a.b.c': value })).toEqual({ a: { b: { c: value } } });
    expect(apply({ a: {} }, { 'a.b.c': value })).toEqual({ a: { b: { c: value } } });
  });

  it.each<[JsonObject, JsonObject, JsonObject]>([
    [{}, { 'address.city': 'Ulm' }, { address: { city: 'Ulm' } }],
    [{ address: { zip: 1 } }, { 'address.city': 'Ulm' }, { address: { zip: 1, city: 'Ulm' } }],
    [{}, { 'stats.wins': op('Increment', { amount: 1 }) }, { stats: { wins: 1 } }],
    [{}, { 'a.b.c': op('AddUnique', { objects: [1] }), 'a.b.d': 2 }, { a: { b: { c: [1], d: 2 } } }],
    [{ address: { zip: 1, city: 'Ulm' } }, { 'address.zip': op('Delete') }, { address: { city: 'Ulm' } }],
    [{ address: {} }, { 'address.zip': op('Delete') }, { address: {} }],
    [{}, { 'address.zip': op('Delete') }, {}],
    [{}, { 'a.b.c': op('Remove', { objects: [1] }) }, {}],
    [{}, { 'a.0': 1 }, { a: { 0: 1 } }],
    [{ a: [1, { b: 2 }] }, { 'a.1.b': op('Increment', { amount: 1 }) }, { a: [1, { b: 3 }] }],
    [{ a: [1, 2] }, { 'a.1': 'x' }, { a: [1, 'x'] }],
    [{ a: [{}] }, { 'a.0.b.c': 1 }, { a: [{ b: { c: 1 } }] }],
    [{}, { 'a.toString': 1, 'a.hasOwnProperty': 2 }, { a: { toString: 1, hasOwnProperty: 2 } }],
    [{}, { toString: op('Increment', { amount: 1 }) }, { toString: 1 }],
  ])('%j with %j is %j', (document, fields, after) => {
    expect(apply(document, fields)).toEqual(after);
  });

  it.each<[JsonObject, JsonObject]>([
    [{ a: null }, { 'a.b': 1 }],
    [{ a: 'text' }, { 'a.b': 1 }],
    [{ a: 'text' }, { 'a.0': 'T' }],
    [{ a: 7 }, { 'a.b': op('Delete') }],
    [{ a: day }, { 'a.iso': 'never' }],
    [{ a: ada }, { 'a.objectId': 'b2' }],
    [{ a: { b: ada } }, { 'a.b.c': 1 }],
    [{ a: [] }, { 'a.0': 1 }],
    [{ a: [1] }, { 'a.1': 1 }],
    [{ a: [1] }, { 'a.-1': 1 }],
    [{ a: [1] }, { 'a.00': 1 }],
    [{ a: [1] }, { 'a.1e0': 1 }],
    [{ a: [1] }, { 'a.length': 0 }],
    [{ a: [1] }, { 'a.4294967296': 1 }],
    [{ a: [1] }, { 'a.push': 1 }],
    [{ a: [1] }, { 'a.0': op('Delete') }],
    [{ a: [[1]] }, { 'a.0.1': 1 }],
  ])('%j with %j is rejected', (document, fields) => {
    const before = structuredClone(document);
    expect(() => apply(document, fields)).toThrow(incorrectType);
    expect(document).toEqual(before);
  });

  it('names the field in its error', () => {
    expect(() => apply({ score: 'x' }, { score: op('Increment', { amount: 1 }) })).toThrow(/^score: /);
  });
});

describe('applyChanges', () => {
  it('changes neither the document nor the values of the changes', () => {
    const document = { list: [{ a: 1 }], deep: { a: { b: 1 } } };
    const { values } = parseChanges({
      list: op('Batch', { ops: [op('Add', { objects: [{ a: 2 }] }), op('Remove', { objects: [{ a: 1 }] })] }),
      'deep.a.b': op('Increment', { amount: 1 }),
      fresh: { a: 1 },
    });
    const [before, changes] = [structuredClone(document), structuredClone(values)];
    const once = applyChanges(document, values);
    applyChanges(once, parseChanges({ 'fresh.a': 2, 'list.0.a': 3 }).values);
    expect([document, values]).toEqual([before, changes]);
    expect(once).toEqual({ list: [{ a: 2 }], deep: { a: { b: 2 } }, fresh: { a: 1 } });
  });

  it('copies only the values that a change enters', () => {
    const document = { big: { a: [1] }, entered: { a: 1 } };
    const after = apply(document, { 'entered.b': 2, fresh: 3 });
    expect(after).toEqual({ ...document, entered: { a: 1, b: 2 }, fresh: 3 });
    expect([after['big'] === document.big, after['entered'] === document.entered]).toEqual([true, false]);
  });

  it('reaches no prototype, even by an unparsed path', () => {
    const paths = [
      ['__proto__', 'polluted'],
      ['constructor', 'prototype', 'polluted'],
      ['a', '__proto__', 'polluted'],
    ] as const;
    for (const path of paths) applyChanges({ a: {} }, [{ path, operation: { kind: 'set', value: 1 } }]);
    expect(({} as JsonObject)['polluted']).toBeUndefined();
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
  });

  it('copies a large document once, not for each of its changes', () => {
    const names = Array.from({ length: 20_000 }, (_, index) => `k${index}`);
    const document = { big: Object.fromEntries(names.map((name) => [name, 1])) };
    const fields = Object.fromEntries(names.map((name) => [`big.${name}`, op('Increment', { amount: 1 })]));
    expect(Object.values(apply(document, fields)['big'] as JsonObject).every((value) => value === 2)).toBe(true);
  }, 10_000);
});
