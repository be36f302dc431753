import type { JsonObject, JsonValue } from '#contracts';
import { isJsonObject } from '../values.js';
import { parseBox, parseNear, parseOrder, parseQueryValue, parseQueryValues } from './parse-values.js';
import { toPostgresPattern } from './pattern.js';
import {
  BOUNDS,
  type ComparisonOperator,
  type Condition,
  type FieldPath,
  type FieldTest,
  invalidQuery,
  parsePath,
  type QueryBudget,
  type SubQuery,
} from './query.js';

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

interface Operand {
  readonly operator: string;
  readonly value: JsonValue;
  /** All operators on the field: some belong together. */
  readonly operators: JsonObject;
  readonly reading: Reading;
}

type TestParser = (operand: Operand) => FieldTest;
interface OperatorDefinition {
  readonly parse: TestParser;
  readonly isNegated?: boolean;
}

const MAX_SIZE = 2_147_483_647;

const operators = new Map<string, OperatorDefinition>([
  ['$ne', { parse: parseEquality, isNegated: true }],
  ['$in', { parse: parseList }],
  ['$nin', { parse: parseList, isNegated: true }],
  ['$all', { parse: (operand) => ({ kind: 'holdsAll', values: parseQueryValues('$all', operand.value) }) }],
  ['$lt', { parse: comparison('<') }],
  ['$lte', { parse: comparison('<=') }],
  ['$gt', { parse: comparison('>') }],
  ['$gte', { parse: comparison('>=') }],
  ['$size', { parse: parseSize }],
  ['$regex', { parse: parseRegex }],
  ['$nearSphere', { parse: ({ value, operators: all }) => parseNear(value, all) }],
  ['$within', { parse: ({ value }) => parseBox(value) }],
  ['$inQuery', { parse: parseInQuery }],
  ['$notInQuery', { parse: parseInQuery, isNegated: true }],
  ['$select', { parse: parseSelect }],
  ['$dontSelect', { parse: parseSelect, isNegated: true }],
]);

/** Operators that only say more about another one. */
const companions = new Map([
  ['$options', '$regex'],
  ['$maxDistance', '$nearSphere'],
  ['$maxDistanceInRadians', '$nearSphere'],
  ['$maxDistanceInKilometers', '$nearSphere'],
  ['$maxDistanceInMiles', '$nearSphere'],
]);

/** Whether the value of a field in a `where` is operators, rather than a value to equal. */
export function isOperators(value: JsonValue): value is JsonObject {
  return isJsonObject(value) && Object.keys(value).some((key) => key.startsWith('$'));
}

/** Reads `{"$gt": 1, "$lt": 5}`, all of which must hold. @throws AppError INVALID_QUERY and what the operators throw */
export function parseOperators(field: FieldPath, all: JsonObject, reading: Reading): readonly Condition[] {
  return Object.entries(all).flatMap(([operator, value]) => {
    if (isCompanion(operator, all)) return [];
    reading.budget.spendCondition();
    return [parseOperator(field, { operator, value, operators: all, reading })];
  });
}

function isCompanion(operator: string, all: JsonObject): boolean {
  const leader = companions.get(operator);
  if (leader !== undefined && !Object.hasOwn(all, leader)) throw invalidQuery(`${operator} needs ${leader}.`);
  return leader !== undefined;
}

function parseOperator(field: FieldPath, operand: Operand): Condition {
  if (operand.operator === '$exists') return parseExists(field, operand.value);
  const definition = operators.get(operand.operator);
  if (definition === undefined) throw invalidQuery(`Unknown operator ${operand.operator.slice(0, 32)}.`);
  const condition: Condition = { kind: 'field', field, test: definition.parse(operand) };
  return definition.isNegated === true ? { kind: 'not', condition } : condition;
}

function parseExists(field: FieldPath, value: JsonValue): Condition {
  if (typeof value !== 'boolean') throw invalidQuery('$exists takes true or false.');
  const condition: Condition = { kind: 'field', field, test: { kind: 'exists' } };
  return value ? condition : { kind: 'not', condition };
}

function parseEquality({ value }: Operand): FieldTest {
  return { kind: 'isAnyOf', values: [parseQueryValue(value)] };
}

function parseList({ operator, value }: Operand): FieldTest {
  return { kind: 'isAnyOf', values: parseQueryValues(operator, value) };
}

function comparison(operator: ComparisonOperator): TestParser {
  return ({ operator: name, value }) => {
    const parsed = parseQueryValue(value);
    const isComparable = isJsonObject(parsed) ? parsed['__type'] === 'Date' : parsed !== null && !Array.isArray(parsed);
    if (!isComparable) throw invalidQuery(`${name} takes a number, a string, a boolean or a Date.`);
    return { kind: 'compares', operator, value: parsed };
  };
}

function parseSize({ value }: Operand): FieldTest {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > MAX_SIZE)
    throw invalidQuery('$size takes a whole number.');
  return { kind: 'hasSize', size: value };
}

function parseRegex({ value, operators: { $options: options = '' } }: Operand): FieldTest {
  if (typeof value !== 'string' || typeof options !== 'string') throw invalidQuery('$regex and $options take strings.');
  return { kind: 'matches', ...toPostgresPattern(value, options) };
}

function parseInQuery({ value, reading }: Operand): FieldTest {
  return { kind: 'isInQuery', query: reading.readSubQuery(value, reading) };
}

function parseSelect({ operator, value, reading }: Operand): FieldTest {
  const { query, key, ...rest } = isJsonObject(value) ? value : {};
  if (query === undefined || typeof key !== 'string' || Object.keys(rest).length > 0)
    throw invalidQuery(`${operator} takes a query and a key.`);
  return { kind: 'isSelected', query: reading.readSubQuery(query, reading), key: parsePath(key) };
}
