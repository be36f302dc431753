import { describe, expect, it } from 'vitest';
import { isOn, parseKeys, parseUserListQuery } from './user-list.query.js';

describe('parseUserListQuery', () => {
  it('has the defaults of the API', () => {
    expect(parseUserListQuery({})).toEqual({ limit: 100, skip: 0, count: false });
  });

  it.each([
    ['0', 0],
    ['1', 1],
    ['1000', 1000],
    ['1001', 100],
    ['-1', 100],
    ['ten', 100],
    ['1.5', 100],
    ['', 100],
  ])('reads the limit %j as %d', (limit, expected) => {
    expect(parseUserListQuery({ limit }).limit).toBe(expected);
  });

  it('reads where, order, keys, skip and count', () => {
    const params = { where: '{"a":1}', order: '-b', keys: 'c, d,', skip: '7', count: '1' };
    expect(parseUserListQuery(params)).toEqual({
      where: { a: 1 },
      order: '-b',
      keys: ['c', 'd'],
      limit: 100,
      skip: 7,
      count: true,
    });
  });

  it.each([
    { where: '{' },
    { skip: '-1' },
    { skip: '1e9' },
    { skip: '99999999999' },
    { where: ['{}', '{}'] },
    { order: ['a', 'b'] },
  ])('refuses %j', (params) => {
    expect(() => parseUserListQuery(params)).toThrow(expect.objectContaining({ errorName: 'INVALID_QUERY' }) as Error);
  });
});

describe('parseKeys and isOn', () => {
  it('reads names joined by commas', () => {
    expect([parseKeys({}), parseKeys({ keys: 'a,-b' })]).toEqual([undefined, ['a', '-b']]);
  });

  it('takes 1 and true for on, and nothing else', () => {
    const values = ['1', 'true', 'TRUE', '0', '', undefined, ['1']];
    expect(values.map((value) => isOn({ new: value }, 'new'))).toEqual([true, true, false, false, false, false, false]);
  });
});
