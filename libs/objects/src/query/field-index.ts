import { type JsonValue, MAX_INDEXED_FIELDS } from '#contracts';
import { isFieldName, isJsonObject } from '../values.js';
import type { Condition, FieldCondition, FieldTestOf, ObjectQuery, QueryClass, SortKey } from './query.js';

export interface FieldIndex {
  readonly fields: readonly string[];
}

/** The sort order of types; an unset value sorts with null. */
export const TYPE_ORDER = `ARRAY['null', 'number', 'string', 'object', 'array', 'boolean']`;

/** Length of the indexed prefix of a text, in characters. Three fields stay below PostgreSQL's limit for an index entry (2,704 bytes). */
const INDEXED_CHARACTERS = 100;
const PLAIN = /^[0-9A-Za-z_-]{1,128}$/;

/** The indexed parts of a value: its type, its number, and the prefix of its text. No part is NULL. */
interface IndexedParts {
  readonly rank: string;
  readonly number: string;
  readonly text: string;
}

/** @param value SQL of a JSON value; NULL counts as null */
export function indexedParts(value: string): IndexedParts {
  const type = `jsonb_typeof(${value})`;
  const text = indexedText(`(${value} #>> '{}')`);
  return {
    rank: `COALESCE(array_position(${TYPE_ORDER}, ${type}), 1)`,
    number: `CASE ${type} WHEN 'number' THEN ${value}::numeric ELSE 0 END`,
    text: `(CASE ${type} WHEN 'number' THEN '' ELSE COALESCE(${text}, '') END COLLATE "C")`,
  };
}

export function indexedText(text: string): string {
  return `left(${text}, ${INDEXED_CHARACTERS})`;
}

export const RANKS = { number: 2, string: 3, object: 4, array: 5, boolean: 6 } as const;

/** A literal name: PostgreSQL uses an expression index only where the statement has the same expression. @throws Error for an invalid name */
export function fieldValue(field: string, { jsonColumn }: QueryClass): string {
  if (!isFieldName(field)) throw new Error('only a field can be indexed');
  return `(${jsonColumn} -> ${plainLiteral(field)}::text)`;
}

/** The condition on the application with a literal id: PostgreSQL must prove that the partial index contains all such rows. */
export function isOfApplication(appId: string, { appColumn }: QueryClass): string {
  return `${appColumn} = ${plainLiteral(appId)}`;
}

/** The definition after `CREATE INDEX … ON <table>`: the rows of one application, by the fields, then in the class's order. */
export function fieldIndexDefinition({ fields }: FieldIndex, appId: string, queryClass: QueryClass): string {
  const keys = fields.flatMap((field) => {
    const { rank, number, text } = indexedParts(fieldValue(field, queryClass));
    return [`(${rank})`, `(${number})`, text];
  });
  const { defaultOrderColumn, idColumn } = queryClass;
  const columns = [...keys, defaultOrderColumn, idColumn].join(', ');
  return `(${columns}) WHERE ${isOfApplication(appId, queryClass)}`;
}

/** Whether the index is of built-in texts instead of custom fields. Queries of clients never use such an index. */
export function isTextSearch({ fields }: FieldIndex, { columns }: QueryClass): boolean {
  return fields.every((field) => columns.get(field)?.type === 'text');
}

/** In lower case of ASCII letters. @param operatorClass that of trigrams, with its schema */
export function textSearchDefinition(
  { fields }: FieldIndex,
  appId: string,
  queryClass: QueryClass,
  operatorClass: string,
): string {
  const keys = fields.map((field) => `lower(${queryClass.columns.get(field)?.sql ?? ''}) ${operatorClass}`);
  // Without `fastupdate = off`, searches would also read a list of up to 4 MB of entries that are not sorted in yet.
  return `USING gin (${keys.join(', ')}) WITH (fastupdate = off) WHERE ${isOfApplication(appId, queryClass)}`;
}

/** A text without special characters as an SQL literal. Other texts are rejected rather than escaped. */
function plainLiteral(text: string): string {
  if (!PLAIN.test(text)) throw new Error('an index can only name applications and fields of letters, digits, _ and -');
  return `'${text}'`;
}

export interface IndexedEquality {
  readonly kind: 'equals';
  readonly field: string;
  readonly condition: FieldCondition;
  readonly rank: number;
  readonly values: readonly JsonValue[];
}

export interface IndexedRange {
  readonly kind: 'compares';
  readonly field: string;
  readonly conditions: readonly FieldCondition[];
  readonly rank: number;
  readonly tests: readonly FieldTestOf<'compares'>[];
}

export interface IndexFit {
  readonly index: FieldIndex;
  /** The first fields of the index, in its order. A range is always the last entry. */
  readonly narrowing: readonly (IndexedEquality | IndexedRange)[];
  readonly servesOrder: boolean;
  readonly isWhole: boolean;
}

/** An index fits whose first fields the query restricts or sorts by. More fields are better; among equals, one that also serves the order. */
export function bestFit(
  query: Pick<ObjectQuery, 'where' | 'order'>,
  indexes: readonly FieldIndex[],
  queryClass: QueryClass,
): IndexFit | undefined {
  const conditions = conjunction(query.where);
  const usable = indexes.filter(({ fields }) => fields.every((field) => isCustom(field, queryClass)));
  const fits = usable.map((index) => fitOf(query.order, conditions, index, queryClass));
  return fits
    .filter(({ narrowing, servesOrder }) => narrowing.length > 0 || servesOrder)
    .sort((a, b) => b.narrowing.length - a.narrowing.length || Number(b.servesOrder) - Number(a.servesOrder))[0];
}

function isCustom(field: string, { columns, relations, hidden }: QueryClass): boolean {
  return isFieldName(field) && !columns.has(field) && !relations.has(field) && !hidden.has(field);
}

export function conjunction(where: Condition): readonly Condition[] {
  return where.kind === 'and' ? where.conditions.flatMap(conjunction) : [where];
}

function fitOf(
  order: readonly SortKey[],
  conditions: readonly Condition[],
  index: FieldIndex,
  queryClass: QueryClass,
): IndexFit {
  const narrowing = narrowingOf(conditions, index.fields);
  const fixed = narrowing.filter((part) => part.kind === 'equals' && part.values.length === 1).length;
  const servesOrder = isOrderOf(order, index.fields.slice(fixed), queryClass) && narrowing.length <= fixed + 1;
  const served = new Set(narrowing.flatMap((part) => (part.kind === 'equals' ? [part.condition] : part.conditions)));
  const isListed = narrowing.some((part) => part.kind === 'equals' && part.values.length > 1);
  return {
    index,
    narrowing,
    servesOrder: servesOrder && !isListed,
    isWhole: servesOrder && !isListed && conditions.every((condition) => served.has(condition as FieldCondition)),
  };
}

function narrowingOf(conditions: readonly Condition[], fields: readonly string[]): (IndexedEquality | IndexedRange)[] {
  const narrowing: (IndexedEquality | IndexedRange)[] = [];
  for (const field of fields) {
    const asked = conditions.filter((condition) => isOf(condition, field));
    const equality = asked.map(equalityOf).find((found) => found !== undefined);
    const next = equality ?? rangeOf(asked);
    if (next !== undefined) narrowing.push(next);
    if (next?.kind !== 'equals') break;
  }
  return narrowing;
}

function isOf(condition: Condition, field: string): condition is FieldCondition {
  return condition.kind === 'field' && condition.field.length === 1 && condition.field[0] === field;
}

function equalityOf(condition: FieldCondition): IndexedEquality | undefined {
  const { test } = condition;
  if (test.kind !== 'isAnyOf') return undefined;
  const [rank, ...others] = new Set(test.values.map(rankOf));
  if (rank === undefined || others.length > 0) return undefined;
  return { kind: 'equals', field: condition.field[0], condition, rank, values: test.values };
}

/** The bounds that have the type of the first one. Other bounds are checked on the rows found. */
function rangeOf(asked: readonly FieldCondition[]): IndexedRange | undefined {
  const bounds = asked.flatMap((condition) => {
    const { test } = condition;
    const rank = test.kind === 'compares' ? rankOf(test.value) : undefined;
    if (test.kind !== 'compares' || rank === undefined || rank === RANKS.boolean) return [];
    return [{ condition, test, rank }];
  });
  const [first] = bounds;
  if (first === undefined) return undefined;
  const alike = bounds.filter(({ rank }) => rank === first.rank);
  return {
    kind: 'compares',
    field: first.condition.field[0],
    conditions: alike.map(({ condition }) => condition),
    rank: first.rank,
    tests: alike.map(({ test }) => test),
  };
}

/** Undefined for values whose indexed parts are ambiguous: null and unset, lists, objects without a text form. */
function rankOf(value: JsonValue): number | undefined {
  if (typeof value === 'number') return RANKS.number;
  if (typeof value === 'string') return RANKS.string;
  if (typeof value === 'boolean') return RANKS.boolean;
  const isOfTexts = isJsonObject(value) && Object.values(value).every((member) => typeof member === 'string');
  return isOfTexts ? RANKS.object : undefined;
}

/** Whether the order equals these fields of the index, followed by the class's default order. */
function isOrderOf(order: readonly SortKey[], fields: readonly string[], queryClass: QueryClass): boolean {
  const directions = new Set(order.map(({ direction }) => direction));
  if (directions.size > 1) return false;
  const columns = fields.length === 0 ? defaultOrderFields(queryClass) : [];
  const wanted = order.map(({ field }) => field.join('.'));
  if (fields.length === 0) return wanted.every((name, place) => name === columns[place]);
  return wanted.length === fields.length && wanted.every((name, place) => name === fields[place]);
}

function defaultOrderFields({ columns, defaultOrderColumn, idColumn }: QueryClass): (string | undefined)[] {
  const nameOf = (wanted: string) => [...columns].find(([, { sql }]) => sql === wanted)?.[0];
  return [nameOf(defaultOrderColumn), nameOf(idColumn)];
}

export interface QueryKind {
  readonly question: string;
  /** Fields of an index that would serve the query; empty where no index would. */
  readonly fields: readonly string[];
}

const MAX_KIND_LENGTH = 300;

const WORDS = {
  isAnyOf: '=',
  holdsAll: '$all',
  exists: '$exists',
  hasSize: '$size',
  matches: '$regex',
  isNear: '$nearSphere',
  isWithin: '$within',
  isInQuery: '$inQuery',
  isSelected: '$select',
} as const;

export function queryKind(query: Pick<ObjectQuery, 'where' | 'order'>, queryClass: QueryClass): QueryKind {
  const conditions = [...new Set(conjunction(query.where).map(describeTest))].sort();
  const order = query.order.map(({ field, direction }) => `${direction === 'DESC' ? '-' : ''}${field.join('.')}`);
  const question = [conditions.join(', '), ...(order.length === 0 ? [] : [`order ${order.join(',')}`])];
  const text = question.filter((part) => part !== '').join('; ');
  return {
    // PostgreSQL refuses half a character, which the cut can leave.
    question: (text === '' ? 'all' : text).slice(0, MAX_KIND_LENGTH).toWellFormed(),
    fields: indexableFields(query, queryClass),
  };
}

function describeTest(condition: Condition): string {
  switch (condition.kind) {
    case 'and':
      return condition.conditions.map(describeTest).join(', ');
    case 'or':
      return `(${[...new Set(condition.conditions.map(describeTest))].join(' or ')})`;
    case 'not':
      return `not (${describeTest(condition.condition)})`;
    case 'related':
      return '$relatedTo';
    case 'field': {
      const { field, test } = condition;
      return `${field.join('.')} ${test.kind === 'compares' ? test.operator : WORDS[test.kind]}`;
    }
  }
}

function indexableFields(query: Pick<ObjectQuery, 'where' | 'order'>, queryClass: QueryClass): readonly string[] {
  const tests = conjunction(query.where).flatMap((condition) => {
    if (condition.kind !== 'field' || condition.field.length > 1 || !isCustom(condition.field[0], queryClass))
      return [];
    return [{ field: condition.field[0], kind: condition.test.kind }];
  });
  const equal = tests.filter(({ kind }) => kind === 'isAnyOf').map(({ field }) => field);
  const ordered = query.order.map(({ field }) => field.join('.')).filter((field) => isCustom(field, queryClass));
  const bounded = tests.filter(({ kind }) => kind === 'compares').map(({ field }) => field);
  const last = ordered.length > 0 ? ordered : bounded.slice(0, 1);
  const fields = [...new Set([...equal, ...last])].slice(0, MAX_INDEXED_FIELDS);
  return fields.length > 0 && bestFit(query, [{ fields }], queryClass) !== undefined ? fields : [];
}
