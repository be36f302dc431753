import { DEFAULT_LIST_LIMIT, type JsonObject, type JsonValue } from '#contracts';
import { isFieldName, isJsonObject, parsePointer } from '../values.js';
import { DISTANCE_BOUNDS, parseBox, parseNear, parseOrder, parseQueryValue, parseQueryValues } from './parse-values.js';
import { toPostgresPattern } from './pattern.js';
import {
  type ComparisonOperator,
  type Condition,
  type FieldPath,
  type FieldTest,
  invalidQuery,
  LIMITS,
  parsePath,
  QueryBudget,
  type SubQuery,
} from './query.js';

interface ParseState {
  readonly budget: QueryBudget;
  readonly nesting: number;
  readonly subQueryDepth: number;
  readonly readSubQuery: (value: JsonValue, state: ParseState) => SubQuery;
}

/** Parameters of the presentation that SDKs also send for sub-queries, whose results are not shown. */
const PRESENTATION = ['keys', 'include', 'includeACL', 'returnACL', 'count'];
const MEMBERS = new Set(['className', 'where', 'order', 'limit', 'skip', ...PRESENTATION]);

interface Operand {
  readonly operator: string;
  readonly value: JsonValue;
  readonly operators: JsonObject;
  readonly state: ParseState;
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

const companions = new Map([
  ['$options', '$regex'],
  ...DISTANCE_BOUNDS.map((bound) => [bound, '$nearSphere'] as const),
]);

type MemberParser = (value: JsonValue, state: ParseState) => Condition;

const logicalMembers = new Map<string, MemberParser>([
  ['$and', (value, state) => ({ kind: 'and', conditions: parseBranches('$and', value, state) })],
  ['$or', (value, state) => parseOr('$or', value, state)],
  ['$nor', (value, state) => ({ kind: 'not', condition: parseOr('$nor', value, state) })],
  ['$relatedTo', parseRelatedTo],
]);

/** An object, or a list of objects that must all hold. Undefined and null match everything. */
export function parseWhere(where: unknown): Condition {
  const state: ParseState = {
    budget: new QueryBudget(),
    nesting: 0,
    subQueryDepth: 0,
    readSubQuery: (value, within) => readSubQuery(value, within, parseTree),
  };
  return parseTree(where, state);
}

function parseTree(where: unknown, state: ParseState): Condition {
  if (where === undefined || where === null) return { kind: 'and', conditions: [] };
  if (!Array.isArray(where)) return parseObject(where, state);
  return { kind: 'and', conditions: where.map((member) => parseObject(member, state)) };
}

function parseObject(where: unknown, state: ParseState): Condition {
  if (!isJsonObject(where)) throw invalidQuery('where must be a JSON object, or a list of them.');
  const members = Object.entries(where);
  if (members.length === 0) state.budget.spendCondition();
  return { kind: 'and', conditions: members.flatMap(([name, value]) => parseMember(name, value, state)) };
}

function parseMember(name: string, value: JsonValue, state: ParseState): readonly Condition[] {
  const logical = logicalMembers.get(name);
  if (logical !== undefined) return [logical(value, state)];
  if (name.startsWith('$')) throw invalidQuery(`Unknown operator ${name.slice(0, 32)}.`);
  const field = parsePath(name);
  if (isOperators(value)) return parseOperators(field, value, state);
  state.budget.spendCondition();
  return [{ kind: 'field', field, test: { kind: 'isAnyOf', values: [parseQueryValue(value)] } }];
}

function parseOr(name: string, value: JsonValue, state: ParseState): Condition {
  return { kind: 'or', conditions: parseBranches(name, value, state) };
}

function parseBranches(name: string, value: JsonValue, state: ParseState): readonly Condition[] {
  if (!Array.isArray(value) || value.length === 0) throw invalidQuery(`${name} needs a list of conditions.`);
  const within = { ...state, nesting: state.nesting + 1 };
  if (within.nesting > LIMITS.nesting)
    throw invalidQuery(`$and, $or and $nor may be nested at most ${LIMITS.nesting} levels deep.`);
  return value.map((branch) => parseObject(branch, within));
}

function parseRelatedTo(value: JsonValue, { budget }: ParseState): Condition {
  budget.spendCondition();
  const { object, key } = isJsonObject(value) ? value : {};
  if (typeof key !== 'string' || !isFieldName(key)) throw invalidQuery('$relatedTo needs an object and a key.');
  return { kind: 'related', object: parsePointer(object), key };
}

function readSubQuery(
  value: JsonValue,
  state: ParseState,
  parseTree: (where: unknown, state: ParseState) => Condition,
): SubQuery {
  state.budget.spendSubQuery();
  const within = { ...state, nesting: 0, subQueryDepth: state.subQueryDepth + 1 };
  if (within.subQueryDepth > LIMITS.subQueryDepth)
    throw invalidQuery(`Sub-queries may be nested at most ${LIMITS.subQueryDepth} levels deep.`);
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
  if (unknown !== undefined) throw invalidQuery(`A sub-query does not support ${unknown.slice(0, 32)}.`);
  return value;
}

function parseClassName({ className }: JsonObject): string {
  if (typeof className !== 'string') throw invalidQuery('A sub-query needs a className.');
  return className;
}

function parseSubOrder({ order = '' }: JsonObject): SubQuery['order'] {
  if (typeof order !== 'string') throw invalidQuery('The order of a sub-query must be a string.');
  return parseOrder(order);
}

/** An invalid limit becomes the default, as for the limit of a whole query. */
function parseLimit({ limit }: JsonObject): number {
  return isCount(limit, LIMITS.subQueryRows) && limit > 0 ? limit : DEFAULT_LIST_LIMIT;
}

function parseSkip({ skip = 0 }: JsonObject): number {
  if (!isCount(skip, LIMITS.skippedRows)) throw invalidQuery(`skip must be 0 to ${LIMITS.skippedRows}.`);
  return skip;
}

function isCount(value: JsonValue | undefined, max: number): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= max;
}

function isOperators(value: JsonValue): value is JsonObject {
  return isJsonObject(value) && Object.keys(value).some((key) => key.startsWith('$'));
}

/** Parses `{"$gt": 1, "$lt": 5}`, whose operators must all hold. @throws AppError INVALID_QUERY and the errors of the operators */
function parseOperators(field: FieldPath, all: JsonObject, state: ParseState): readonly Condition[] {
  return Object.entries(all).flatMap(([operator, value]) => {
    if (isCompanion(operator, all)) return [];
    state.budget.spendCondition();
    return [parseOperator(field, { operator, value, operators: all, state })];
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
  if (typeof value !== 'boolean') throw invalidQuery('$exists needs true or false.');
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
    if (!isComparable) throw invalidQuery(`${name} needs a number, a string, a boolean or a Date.`);
    return { kind: 'compares', operator, value: parsed };
  };
}

function parseSize({ value }: Operand): FieldTest {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > MAX_SIZE)
    throw invalidQuery('$size needs a whole number.');
  return { kind: 'hasSize', size: value };
}

function parseRegex({ value, operators: { $options: options = '' } }: Operand): FieldTest {
  if (typeof value !== 'string' || typeof options !== 'string') throw invalidQuery('$regex and $options need strings.');
  return { kind: 'matches', ...toPostgresPattern(value, options) };
}

function parseInQuery({ value, state }: Operand): FieldTest {
  return { kind: 'isInQuery', query: state.readSubQuery(value, state) };
}

function parseSelect({ operator, value, state }: Operand): FieldTest {
  const { query, key, ...rest } = isJsonObject(value) ? value : {};
  if (query === undefined || typeof key !== 'string' || Object.keys(rest).length > 0)
    throw invalidQuery(`${operator} needs a query and a key.`);
  return { kind: 'isSelected', query: state.readSubQuery(query, state), key: parsePath(key) };
}
