import type { JsonObject, JsonValue } from '#contracts';
import { isJsonObject } from '#object-values';
import { BOUNDS, invalidQuery, type QueryBudget } from './bounds.js';
import { parseOrder } from './parse-order.js';
import type { Condition, SubQuery } from './query.js';

/** Where in a query the reader is. */
export interface Reading {
  readonly budget: QueryBudget;
  /** How many of `$and`, `$or` and `$nor` are around. */
  readonly nesting: number;
  readonly subQueryDepth: number;
  readonly readSubQuery: (value: JsonValue, reading: Reading) => SubQuery;
}

const DEFAULT_LIMIT = 100;
/** SDKs send them along; they say how results are shown, and nothing is shown. */
const PRESENTATION = ['keys', 'include', 'includeACL', 'returnACL', 'count'];
const MEMBERS = new Set(['className', 'where', 'order', 'limit', 'skip', ...PRESENTATION]);

/** @throws AppError INVALID_QUERY where it is none or passes a bound, and all that `parseWhere` throws */
export function readSubQuery(
  value: JsonValue,
  reading: Reading,
  parseTree: (where: unknown, reading: Reading) => Condition,
): SubQuery {
  reading.budget.spendSubQuery();
  const within = { ...reading, nesting: 0, subQueryDepth: reading.subQueryDepth + 1 };
  if (within.subQueryDepth > BOUNDS.subQueryDepth)
    throw invalidQuery(`Sub-queries may be nested ${BOUNDS.subQueryDepth} levels deep at most.`);
  const query = parseMembers(value);
  return {
    className: parseClassName(query),
    where: parseTree(query['where'], within),
    order: parseSubOrder(query),
    limit: parseLimit(query),
    skip: parseSkip(query),
  };
}

function parseMembers(value: JsonValue): JsonObject {
  if (!isJsonObject(value)) throw invalidQuery('A sub-query must be a JSON object.');
  const unknown = Object.keys(value).find((name) => !MEMBERS.has(name));
  if (unknown !== undefined) throw invalidQuery(`A sub-query knows no ${unknown.slice(0, 32)}.`);
  return value;
}

function parseClassName({ className }: JsonObject): string {
  if (typeof className !== 'string') throw invalidQuery('A sub-query names its className.');
  return className;
}

function parseSubOrder({ order = '' }: JsonObject): SubQuery['order'] {
  if (typeof order !== 'string') throw invalidQuery('The order of a sub-query must be a string.');
  return parseOrder(order);
}

/** Out of bounds it is the default, as the API reads the limit of a whole query. */
function parseLimit({ limit }: JsonObject): number {
  return isCount(limit, BOUNDS.subQueryRows) && limit > 0 ? limit : DEFAULT_LIMIT;
}

function parseSkip({ skip = 0 }: JsonObject): number {
  if (!isCount(skip, BOUNDS.skippedRows)) throw invalidQuery(`skip must be 0 to ${BOUNDS.skippedRows}.`);
  return skip;
}

function isCount(value: JsonValue | undefined, max: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= max;
}
