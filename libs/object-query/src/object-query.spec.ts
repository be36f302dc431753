import { describe, expect, it } from 'vitest';
import { compileCondition, compileCount, compileFind } from './compile.js';
import { parseOrder, parseWhere } from './parse.js';
import type { QueryClass, QueryScope } from './query-class.js';

const things: QueryClass = {
  className: 'Thing',
  table: 'things',
  columns: new Map([
    ['name', { sql: 'name', type: 'text' }],
    ['isOpen', { sql: 'is_open', type: 'boolean' }],
    ['createdAt', { sql: 'created_at', type: 'date' }],
  ]),
  hidden: new Set(['secret']),
  relations: new Map(),
  appColumn: 'app',
  aclColumn: 'acl',
  jsonColumn: 'fields',
  defaultOrderColumn: 'created_at',
  idColumn: 'id',
};
const master: QueryScope = {
  appId: 'app',
  grantees: 'master',
  classOf: () => things,
};
const compile = (where: unknown, order = '', rest: { limit?: number; skip?: number } = {}) =>
  compileFind({ where: parseWhere(where), order: parseOrder(order), ...rest }, things, master);

describe('parseWhere', () => {
  it.each([undefined, null, {}])('takes %j for everything', (where) => {
    expect(parseWhere(where)).toEqual({ kind: 'and', conditions: [] });
  });

  it.each<[unknown, string]>([
    ['text', 'INVALID_QUERY'],
    [[], 'INVALID_QUERY'],
    [7, 'INVALID_QUERY'],
    [{ $where: '1' }, 'INVALID_QUERY'],
    [{ name: { $regex: 'x' } }, 'INVALID_QUERY'],
    [{ name: { __op: 'Delete' } }, 'INVALID_QUERY'],
    [{ name: 'a\0' }, 'INVALID_QUERY'],
    [{ name: { a: ['\ud800'] } }, 'INVALID_QUERY'],
    [{ 'a b': 1 }, 'INVALID_KEY_NAME'],
    [{ "a'": 1 }, 'INVALID_KEY_NAME'],
    [{ '': 1 }, 'INVALID_KEY_NAME'],
    [{ _private: 1 }, 'INVALID_KEY_NAME'],
    [JSON.parse('{"__proto__": 1}'), 'INVALID_KEY_NAME'],
    [Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`k${index}`, 1])), 'INVALID_QUERY'],
  ])('refuses %j', (where, errorName) => {
    expect(() => parseWhere(where)).toThrow(expect.objectContaining({ errorName }) as Error);
  });
});

describe('parseOrder', () => {
  it('reads names with and without a minus', () => {
    expect(parseOrder(' name, -createdAt ,')).toEqual([
      { field: 'name', direction: 'ASC' },
      { field: '-createdAt'.slice(1), direction: 'DESC' },
    ]);
  });

  it.each(['name desc', 'name;', '--name', '-', 'a.b', '1a'])('refuses %j', (order) => {
    expect(() => parseOrder(order)).toThrow(expect.objectContaining({ errorName: 'INVALID_KEY_NAME' }) as Error);
  });
});

describe('compileFind', () => {
  const evil = "'; DROP TABLE users; --";

  it('binds every value and every custom field', () => {
    const { where, orderBy, limit, parameters } = compile(
      { name: evil, color: evil, nested: { a: 1 } },
      'color,-name',
      { limit: 5, skip: 2 },
    );
    const sql = [where, orderBy, limit].join(' ');
    expect(sql).not.toContain('DROP');
    expect(sql).not.toMatch(/color|nested/);
    expect(parameters[0]).toBe('app');
    const used = [...sql.matchAll(/\$(\d+)/g)].map(([, index]) => Number(index));
    expect(new Set(used).size).toBe(parameters.length);
  });

  it.each<[unknown, string]>([
    [{}, 'TRUE'],
    [{ name: null }, '(name IS NULL)'],
    [{ name: 'x' }, '(name = $2)'],
    [{ name: 7 }, '(FALSE)'],
    [{ isOpen: 'true' }, '(FALSE)'],
    [{ isOpen: true }, '(is_open = $2)'],
    [{ createdAt: 'yesterday' }, '(FALSE)'],
    [{ createdAt: { __type: 'Date', iso: '2026-01-01T00:00:00.000Z' } }, '(created_at = $2)'],
  ])('compares columns by their type: %j', (where, sql) => {
    expect(compile(where).where).toBe(`app = $1 AND ${sql}`);
  });

  it.each([{ secret: 'x' }, { secret: null }])('refuses hidden fields: %j', (where) => {
    expect(() => compile(where)).toThrow(expect.objectContaining({ errorName: 'INVALID_QUERY' }) as Error);
  });

  it('refuses to order by a hidden field', () => {
    expect(() => compile({}, 'secret')).toThrow(expect.objectContaining({ errorName: 'INVALID_QUERY' }) as Error);
  });

  it('always ends the order with the id, so that pages neither overlap nor leave gaps', () => {
    expect(compile({}).orderBy).toBe('created_at ASC, id ASC');
    expect(compile({}, '-name').orderBy).toBe('name DESC, id ASC');
  });

  it('restricts to rows that one of the grantees may read', () => {
    const { where, parameters } = compileFind({ where: parseWhere({}), order: [] }, things, {
      ...master,
      grantees: ['*', 'role:"x'],
    });
    expect(where).toBe('app = $1 AND (acl IS NULL OR acl @> ANY ($2::jsonb[])) AND TRUE');
    expect(parameters[1]).toEqual(['{"*":{"read":true}}', String.raw`{"role:\"x":{"read":true}}`]);
  });
});

describe('compileCount', () => {
  it('binds nothing but the condition', () => {
    expect(compileCount(parseWhere({ name: 'x' }), things, master)).toEqual({
      sql: 'app = $1 AND (name = $2)',
      parameters: ['app', 'x'],
    });
  });
});

describe('compileCondition', () => {
  it('follows the parameters that are there, and asks for the condition alone', () => {
    expect(compileCondition(parseWhere({ name: 'x' }), things, master, ['app', 'id'])).toEqual({
      sql: '(name = $3)',
      parameters: ['app', 'id', 'x'],
    });
  });
});
