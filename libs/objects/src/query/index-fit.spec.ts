import { describe, expect, it } from 'vitest';
import { bestFit } from './field-index.js';
import { parseOrder } from './parse-values.js';
import { parseWhere } from './parse.js';
import type { QueryClass } from './query.js';

const things: QueryClass = {
  className: 'Thing',
  table: 'things',
  columns: new Map([
    ['objectId', { sql: 'id', type: 'text' }],
    ['createdAt', { sql: 'created_at', type: 'date' }],
  ]),
  relations: new Map(),
  hidden: new Set(['secret']),
  appColumn: 'app',
  idColumn: 'id',
  jsonColumn: 'fields',
  aclColumn: 'acl',
  defaultOrderColumn: 'created_at',
};
const [a, ab, b, column] = ['a', 'a,b', 'b', 'createdAt'].map((names) => ({ fields: names.split(',') }));
const indexes = [a, ab, b, column].filter((index) => index !== undefined);

/** The fields of the best index, with restricting ones in brackets; `+` where it serves the order, `!` where it covers the query. */
function fitOf(where: object, order = ''): string {
  const fit = bestFit({ where: parseWhere(where), order: parseOrder(order) }, indexes, things);
  if (fit === undefined) return '';
  const { index, narrowing, servesOrder, isWhole } = fit;
  const narrowed = narrowing.map(({ field }) => field).join();
  return `${index.fields.join()}(${narrowed})${servesOrder ? '+' : ''}${isWhole ? '!' : ''}`;
}

describe('the best index', () => {
  it.each<[object, string, string]>([
    [{ a: 1 }, '', 'a(a)+!'],
    [{ a: 'x' }, '-createdAt', 'a(a)+!'],
    [{ a: true }, 'b', 'a,b(a)+!'],
    [{ a: true }, '-b', 'a,b(a)+!'],
    [{ a: 1, b: 2 }, '', 'a,b(a,b)+!'],
    [{ b: 2 }, 'a', 'b(b)'],
    [{ a: 1, b: { $gt: 2 } }, 'b', 'a,b(a,b)+!'],
    [{ a: 1, b: { $gt: 2 } }, '', 'a,b(a,b)'],
    [{ a: { $gt: 1, $lte: 5 } }, 'a', 'a(a)+!'],
    [{ a: { $gt: 1, $lte: 'x' } }, 'a', 'a(a)+'],
    [{ a: { $in: [1, 2] } }, '', 'a(a)'],
    [{ a: 1, c: 1 }, '', 'a(a)+'],
    [{ a: { __type: 'Date', iso: '2026-01-01T00:00:00.000Z' } }, '', 'a(a)+!'],
    [{}, 'a', 'a()+!'],
    [{}, '-a,-b', 'a,b()+!'],
    [{ c: 1 }, 'b', 'b()+'],
    [{}, 'a,-b', ''],
    [{ a: null }, '', ''],
    [{ a: [1] }, '', ''],
    [{ a: { n: 1 } }, '', ''],
    [{ a: { $in: [1, 'x'] } }, '', ''],
    [{ a: { $ne: 1 } }, '', ''],
    [{ a: { $gt: true } }, '', ''],
    [{ 'a.b': 1 }, '', ''],
    [{ $or: [{ a: 1 }, { a: 2 }] }, '', ''],
    [{ createdAt: '2026-01-01T00:00:00.000Z' }, 'createdAt', ''],
  ])('of %j ordered by %j is %j', (where, order, fit) => {
    expect(fitOf(where, order)).toBe(fit);
  });
});
