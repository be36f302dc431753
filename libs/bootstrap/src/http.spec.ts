import { describe, expect, it } from 'vitest';
import { asJsonObject, parseJsonBody } from './http.js';

describe('parseJsonBody', () => {
  it.each<[string, unknown]>([
    ['', {}],
    ['  \n', {}],
    ['null', {}],
    ['{"a": [1, {"b": null}]}', { a: [1, { b: null }] }],
    ['[]', []],
  ])('reads %j', (text, value) => {
    expect(parseJsonBody(Buffer.from(text))).toEqual(value);
  });

  it.each([
    ['{', 'MALFORMED_JSON'],
    ['{"a": NaN}', 'MALFORMED_JSON'],
    ['{"a": [1e400]}', 'INCORRECT_TYPE'],
    ['undefined', 'MALFORMED_JSON'],
    ['{"__proto__": 1}', 'INVALID_KEY_NAME'],
    ['{"a": [{"b": {"__proto__": {}}}]}', 'INVALID_KEY_NAME'],
    [`${'['.repeat(100)}${']'.repeat(100)}`, 'MALFORMED_JSON'],
    [`${'['.repeat(200_000)}${']'.repeat(200_000)}`, 'MALFORMED_JSON'],
  ])('refuses what is no JSON, too deep, or named like a prototype: %.40s', (text, errorName) => {
    expect(() => parseJsonBody(Buffer.from(text))).toThrow(expect.objectContaining({ errorName }) as Error);
  });

  it.each(['', '1', '"a"', '{}'])('takes 64 levels around %j, and no more', (innermost) => {
    const nested = (levels: number) =>
      parseJsonBody(Buffer.from(`${'['.repeat(levels)}${innermost}${']'.repeat(levels)}`));
    const levels = innermost === '' ? 65 : 64;
    expect(nested(levels)).toBeInstanceOf(Array);
    expect(() => nested(levels + 1)).toThrow(expect.objectContaining({ errorName: 'MALFORMED_JSON' }) as Error);
  });

  it('refuses bytes that are no UTF-8', () => {
    const bytes = Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xff]), Buffer.from('"}')]);
    expect(() => parseJsonBody(bytes)).toThrow(expect.objectContaining({ errorName: 'MALFORMED_JSON' }) as Error);
  });
});

describe('asJsonObject', () => {
  it('takes no body for an empty object', () => {
    expect([asJsonObject(undefined), asJsonObject(null), asJsonObject({ a: 1 })]).toEqual([{}, {}, { a: 1 }]);
  });

  it.each([[[]], ['text'], [7], [true]])('refuses %j', (body) => {
    expect(() => asJsonObject(body)).toThrow(expect.objectContaining({ errorName: 'MALFORMED_JSON' }) as Error);
  });
});
