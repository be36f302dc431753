import { describe, expect, it } from 'vitest';
import { parseListQuery, parseReadOptions, parseWriteOptions } from './object.params.js';

describe('parseListQuery', () => {
  it('has the defaults of the API', () => {
    expect(parseListQuery({})).toEqual({ limit: 100, skip: 0, count: false, returnAcl: false });
  });

  it.each([
    ['0', 100],
    ['1', 1],
    ['1000', 1000],
    ['1001', 100],
    ['-1', 100],
    ['ten', 100],
    ['1.5', 100],
    ['', 100],
  ])('reads the limit %j as %d', (limit, expected) => {
    expect(parseListQuery({ limit }).limit).toBe(expected);
  });

  it('reads the limit 0 where the request counts', () => {
    expect(parseListQuery({ limit: '0', count: '1' })).toMatchObject({ limit: 0, count: true });
  });

  it.each(['1', 'true', 'True'])('reads count=%s, as SDKs write it', (count) => {
    expect(parseListQuery({ count }).count).toBe(true);
  });

  it('reads where, order, keys, skip and count', () => {
    const params = {
      where: '{"a":1}',
      order: '-b',
      keys: 'c, d,',
      skip: '7',
      count: '1',
      include: 'e',
      returnACL: 'true',
    };
    expect(parseListQuery(params)).toEqual({
      where: { a: 1 },
      order: '-b',
      keys: ['c', 'd'],
      limit: 100,
      skip: 7,
      count: true,
      include: 'e',
      returnAcl: true,
    });
  });

  it.each([
    [{ where: '{"a":1e400}' }, 'where: Numbers must be finite.'],
    [{ where: `${'['.repeat(66)}${']'.repeat(66)}` }, 'where: Values may be nested 64 levels deep at most.'],
    [{ skip: '1000000001' }, 'skip must be a whole number from 0 to 1000000000.'],
  ])('tells what is wrong with %j', (params, message) => {
    expect(() => parseListQuery(params)).toThrow(message);
  });

  it.each([
    { where: '{' },
    { skip: '-1' },
    { skip: '1e9' },
    { skip: '99999999999' },
    { where: ['{}', '{}'] },
    { order: ['a', 'b'] },
  ])('refuses %j', (params) => {
    expect(() => parseListQuery(params)).toThrow(expect.objectContaining({ errorName: 'INVALID_QUERY' }) as Error);
  });
});

describe('parseReadOptions', () => {
  it('reads names joined by commas', () => {
    expect(parseReadOptions({})).toEqual({ returnAcl: false });
    expect(parseReadOptions({ keys: 'a,-b', include: '' })).toEqual({ keys: ['a', '-b'], returnAcl: false });
  });
});

describe('parseWriteOptions', () => {
  it('takes 1 and true for on, and nothing else', () => {
    const values = ['1', 'true', 'True', '0', '', undefined, ['1']];
    const isOn = (value: unknown) => parseWriteOptions({ fetchWhenSave: value }).returnNew;
    expect(values.map(isOn)).toEqual([true, true, true, false, false, false, false]);
  });

  it('reads a condition, and none where it is empty', () => {
    expect(parseWriteOptions({ where: '{"a":1}', new: 'true' })).toEqual({ where: { a: 1 }, returnNew: true });
    expect(parseWriteOptions({ where: '' })).toEqual({ returnNew: false });
  });
});
