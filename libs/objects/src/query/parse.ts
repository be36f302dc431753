import type { JsonValue } from '#contracts';
import { isFieldName, isJsonObject, parsePointer } from '../values.js';
import { isOperators, parseOperators, type Reading, readSubQuery } from './parse-operators.js';
import { parseQueryValue } from './parse-values.js';
import { LIMITS, type Condition, invalidQuery, parsePath, QueryBudget } from './query.js';

type MemberParser = (value: JsonValue, reading: Reading) => Condition;

const logicalMembers = new Map<string, MemberParser>([
  ['$and', (value, reading) => ({ kind: 'and', conditions: parseBranches('$and', value, reading) })],
  ['$or', (value, reading) => parseOr('$or', value, reading)],
  ['$nor', (value, reading) => ({ kind: 'not', condition: parseOr('$nor', value, reading) })],
  ['$relatedTo', parseRelatedTo],
]);

/**
 * Parses a `where`: an object, or a list of objects that must all hold. Undefined and null match everything.
 * @throws AppError INVALID_QUERY where it is malformed, names an unknown operator or exceeds a limit; INVALID_KEY_NAME; MALFORMED_POINTER;
 *   GEO_POINT_QUERY
 */
export function parseWhere(where: unknown): Condition {
  const reading: Reading = {
    budget: new QueryBudget(),
    nesting: 0,
    subQueryDepth: 0,
    readSubQuery: (value, within) => readSubQuery(value, within, parseTree),
  };
  return parseTree(where, reading);
}

function parseTree(where: unknown, reading: Reading): Condition {
  if (where === undefined || where === null) return { kind: 'and', conditions: [] };
  if (!Array.isArray(where)) return parseObject(where, reading);
  return { kind: 'and', conditions: where.map((member) => parseObject(member, reading)) };
}

function parseObject(where: unknown, reading: Reading): Condition {
  if (!isJsonObject(where)) throw invalidQuery('where must be a JSON object, or a list of them.');
  const members = Object.entries(where);
  if (members.length === 0) reading.budget.spendCondition();
  return { kind: 'and', conditions: members.flatMap(([name, value]) => parseMember(name, value, reading)) };
}

function parseMember(name: string, value: JsonValue, reading: Reading): readonly Condition[] {
  const logical = logicalMembers.get(name);
  if (logical !== undefined) return [logical(value, reading)];
  if (name.startsWith('$')) throw invalidQuery(`Unknown operator ${name.slice(0, 32)}.`);
  const field = parsePath(name);
  if (isOperators(value)) return parseOperators(field, value, reading);
  reading.budget.spendCondition();
  return [{ kind: 'field', field, test: { kind: 'isAnyOf', values: [parseQueryValue(value)] } }];
}

function parseOr(name: string, value: JsonValue, reading: Reading): Condition {
  return { kind: 'or', conditions: parseBranches(name, value, reading) };
}

function parseBranches(name: string, value: JsonValue, reading: Reading): readonly Condition[] {
  if (!Array.isArray(value) || value.length === 0) throw invalidQuery(`${name} needs a list of conditions.`);
  const within = { ...reading, nesting: reading.nesting + 1 };
  if (within.nesting > LIMITS.nesting)
    throw invalidQuery(`$and, $or and $nor may be nested at most ${LIMITS.nesting} levels deep.`);
  return value.map((branch) => parseObject(branch, within));
}

function parseRelatedTo(value: JsonValue, { budget }: Reading): Condition {
  budget.spendCondition();
  const { object, key } = isJsonObject(value) ? value : {};
  if (typeof key !== 'string' || !isFieldName(key)) throw invalidQuery('$relatedTo needs an object and a key.');
  return { kind: 'related', object: parsePointer(object), key };
}
