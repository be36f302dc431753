import { describe, expect, it } from 'vitest';
import type { JsonValue } from '#contracts';
import { parseValue } from './values.js';

const nested = (depth: number): JsonValue => (depth === 0 ? {} : { a: nested(depth - 1) });
const own = (json: string) => JSON.parse(json) as JsonValue;

describe('parseValue', () => {
  it.each<JsonValue>([
    0,
    -1.5,
    '',
    '😀\u2028',
    true,
    null,
    [],
    {},
    [[{ x: [1, '2', null] }]],
    { className: 'no pointer', objectId: 7, latitude: 1000, iso: 'x' },
    nested(32),
  ])('keeps %.60j', (value) => {
    expect(parseValue(value)).toEqual(value);
  });

  it.each<[JsonValue, JsonValue]>([
    [
      { __type: 'Date', iso: '2026-01-02T03:04:05+08:00', extra: 1 },
      { __type: 'Date', iso: '2026-01-01T19:04:05.000Z' },
    ],
    [
      { objectId: 'a1', className: '_User', __type: 'Pointer', username: 'ada' },
      { __type: 'Pointer', className: '_User', objectId: 'a1' },
    ],
    [
      { __type: 'Object', className: 'Post', objectId: 'p1', likes: { __type: 'Relation' }, 'a.b': 1 },
      { __type: 'Pointer', className: 'Post', objectId: 'p1' },
    ],
    [
      { __type: 'GeoPoint', longitude: 116.4, latitude: 39.9, name: 'Beijing' },
      { __type: 'GeoPoint', latitude: 39.9, longitude: 116.4 },
    ],
    [
      { __type: 'Bytes', base64: 'aGVs\r\nbG8=\n', extra: 1 },
      { __type: 'Bytes', base64: 'aGVsbG8=' },
    ],
    [
      { __type: 'Bytes', base64: '' },
      { __type: 'Bytes', base64: '' },
    ],
  ])('brings %j into its canonical form, which stays unchanged', (value, canonical) => {
    expect(JSON.stringify(parseValue(value))).toBe(JSON.stringify(canonical));
    expect(JSON.stringify(parseValue(canonical))).toBe(JSON.stringify(canonical));
    expect(parseValue([{ a: value }])).toEqual([{ a: canonical }]);
  });

  it('keeps a File as sent, with its inner values parsed', () => {
    const file = { __type: 'File', id: 'f1', name: 'a.png', metaData: { size: 3, _checksum: 'x' } };
    expect(parseValue(file)).toEqual(file);
    expect(parseValue({ __type: 'File', objectId: 'f1' })).toEqual({ __type: 'File', objectId: 'f1' });
    expect(() => parseValue({ ...file, metaData: { $a: 1 } })).toThrow();
  });

  it.each<[JsonValue, string]>([
    ['a\0', 'INCORRECT_TYPE'],
    [['\ud800'], 'INCORRECT_TYPE'],
    [Number.POSITIVE_INFINITY, 'INCORRECT_TYPE'],
    [[Number.NaN], 'INCORRECT_TYPE'],
    [nested(33), 'INCORRECT_TYPE'],
    [{ a: { __op: 'Delete' } }, 'INCORRECT_TYPE'],
    [{ __op: 'Delete' }, 'INCORRECT_TYPE'],
    [{ $gt: 1 }, 'INVALID_NESTED_KEY'],
    [[{ 'b.c': 1 }], 'INVALID_NESTED_KEY'],
    [own('{"a":{"__proto__":{"x":1}}}'), 'INVALID_KEY_NAME'],
    [{ a: { constructor: { prototype: 1 } } }, 'INVALID_KEY_NAME'],
    [{ 'a\0': 1 }, 'INVALID_KEY_NAME'],
    [{ __type: 'Pointer', className: '_User' }, 'MALFORMED_POINTER'],
    [{ __type: 'Object', objectId: 'a1' }, 'MALFORMED_POINTER'],
    [{ __type: 'Date', iso: 'yesterday' }, 'INCORRECT_TYPE'],
    [{ __type: 'Date', iso: '10000-01-01T00:00:00Z' }, 'INCORRECT_TYPE'],
    [{ __type: 'GeoPoint', latitude: 91, longitude: 0 }, 'INCORRECT_TYPE'],
    [{ __type: 'Bytes', base64: 'a' }, 'INCORRECT_TYPE'],
    [{ __type: 'Bytes', base64: 'aGVsbG8' }, 'INCORRECT_TYPE'],
    [{ __type: 'Bytes', base64: 'äöü=' }, 'INCORRECT_TYPE'],
    [{ __type: 'Bytes' }, 'INCORRECT_TYPE'],
    [{ __type: 'File' }, 'INCORRECT_TYPE'],
    [{ __type: 'File', id: 7 }, 'INCORRECT_TYPE'],
    [{ __type: 'Relation', className: '_User' }, 'INCORRECT_TYPE'],
    [{ __type: 'Set' }, 'INCORRECT_TYPE'],
    [{ __type: 7 }, 'INCORRECT_TYPE'],
    [{ __type: null }, 'INCORRECT_TYPE'],
  ])('refuses %.80j with %s', (value, errorName) => {
    expect(() => parseValue(value)).toThrow(expect.objectContaining({ errorName }) as Error);
  });

  it('counts the levels above the value', () => {
    expect(() => parseValue(nested(31), 1)).not.toThrow();
    expect(() => parseValue(nested(32), 1)).toThrow();
  });

  it('sets no prototype, and shares no object with its input', () => {
    const value = { list: [{ a: 1 }] };
    const parsed = parseValue(value) as typeof value;
    parsed.list[0]!.a = 2;
    expect(value.list[0]!.a).toBe(1);
    expect(() => parseValue(own('{"__proto__":{"polluted":1}}'))).toThrow();
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });
});
