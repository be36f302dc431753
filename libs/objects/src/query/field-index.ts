import type { JsonValue } from '#contracts';
import { isFieldName, isJsonObject } from '../values.js';
import type { Condition, FieldCondition, FieldTestOf, ObjectQuery, QueryClass, SortKey } from './query.js';

/** An index that an operator has made: of custom fields of one application, in their order. */
export interface FieldIndex {
  readonly fields: readonly string[];
}

/** How values of different types come after each other; what is unset comes with null. */
export const TYPE_ORDER = `ARRAY['null', 'number', 'string', 'object', 'array', 'boolean']`;

/** How many characters of a text stand in an index. Three fields of them stay below what PostgreSQL lets into one entry (2,704 bytes). */
const INDEXED_CHARACTERS = 100;
/** Ids of applications are made of these, and names of fields that can be indexed. */
const PLAIN = /^[0-9A-Za-z_-]{1,128}$/;

/** The parts by which values of a field are indexed: their type, what they are as numbers, and the beginning of their text. None is NULL. */
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

/** As much of a text as stands in an index. */
export function indexedText(text: string): string {
  return `left(${text}, ${INDEXED_CHARACTERS})`;
}

/** The rank of a type of JSON among `indexedParts`. */
export const RANKS = { number: 2, string: 3, object: 4, array: 5, boolean: 6 } as const;

/** A field's value, its name written out: an index is only used where the statement says the same. @throws Error unless it is a field's name */
export function fieldValue(field: string, { jsonColumn }: QueryClass): string {
  if (!isFieldName(field)) throw new Error('only a field can be indexed');
  return `(${jsonColumn} -> ${plainLiteral(field)}::text)`;
}

/** The condition that a row is the application's, its id written out: PostgreSQL must see that the index has all such rows. */
export function isOfApplication(appId: string, { appColumn }: QueryClass): string {
  return `${appColumn} = ${plainLiteral(appId)}`;
}

/** What follows `CREATE INDEX … ON <table>`: the rows of one application, by the fields, then in the class's order. */
export function fieldIndexDefinition({ fields }: FieldIndex, appId: string, queryClass: QueryClass): string {
  const keys = fields.flatMap((field) => {
    const { rank, number, text } = indexedParts(fieldValue(field, queryClass));
    return [`(${rank})`, `(${number})`, text];
  });
  const { defaultOrderColumn, idColumn } = queryClass;
  const columns = [...keys, defaultOrderColumn, idColumn].join(', ');
  return `(${columns}) WHERE ${isOfApplication(appId, queryClass)}`;
}

/** Text that means nothing in SQL, as a literal. Anything else is refused rather than escaped. */
function plainLiteral(text: string): string {
  if (!PLAIN.test(text)) throw new Error('an index names applications and fields of letters, digits, _ and - only');
  return `'${text}'`;
}

/** Values of one type that a field is to equal one of. */
export interface IndexedEquality {
  readonly kind: 'equals';
  readonly field: string;
  readonly condition: FieldCondition;
  readonly rank: number;
  readonly values: readonly JsonValue[];
}

/** Bounds of a field's values, all of one type. */
export interface IndexedRange {
  readonly kind: 'compares';
  readonly field: string;
  readonly conditions: readonly FieldCondition[];
  readonly rank: number;
  readonly tests: readonly FieldTestOf<'compares'>[];
}

/** What an index does for a query. */
export interface IndexFit {
  readonly index: FieldIndex;
  /** Of the first fields of the index, in its order. A range, if there is one, is the last. */
  readonly narrowing: readonly (IndexedEquality | IndexedRange)[];
  readonly servesOrder: boolean;
  /** Whether the index knows all that the query asks: its plan is the same then, whatever the values. */
  readonly isWhole: boolean;
}

/**
 * The index that fits a query best. It fits where the query asks for values of its first fields (equality or `$in` of each, a range of the last one), or
 * wants the rows in the order of its first fields. Better is what serves more fields, then what serves the order too.
 */
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

/** Whether the field's values are in the JSON column, for all to ask about. */
export function isCustom(field: string, { columns, relations, hidden }: QueryClass): boolean {
  return isFieldName(field) && !columns.has(field) && !relations.has(field) && !hidden.has(field);
}

/** The conditions that must all hold. */
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

/** The bounds of the type that the first one is of; others hold for the rows that are found. */
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

/** Undefined for what the parts of an index do not tell apart from others: null and unset, lists, objects other than of texts. */
function rankOf(value: JsonValue): number | undefined {
  if (typeof value === 'number') return RANKS.number;
  if (typeof value === 'string') return RANKS.string;
  if (typeof value === 'boolean') return RANKS.boolean;
  const isOfTexts = isJsonObject(value) && Object.values(value).every((member) => typeof member === 'string');
  return isOfTexts ? RANKS.object : undefined;
}

/** Whether the rows come in the order where the index goes on by these fields, and then by the class's own order. */
function isOrderOf(order: readonly SortKey[], fields: readonly string[], queryClass: QueryClass): boolean {
  const directions = new Set(order.map(({ direction }) => direction));
  if (directions.size > 1) return false;
  const columns = fields.length === 0 ? defaultOrderFields(queryClass) : [];
  const wanted = order.map(({ field }) => field.join('.'));
  if (fields.length === 0) return wanted.every((name, place) => name === columns[place]);
  return wanted.length === fields.length && wanted.every((name, place) => name === fields[place]);
}

/** The names of the class's own order: those of its columns. */
function defaultOrderFields({ columns, defaultOrderColumn, idColumn }: QueryClass): (string | undefined)[] {
  const nameOf = (wanted: string) => [...columns].find(([, { sql }]) => sql === wanted)?.[0];
  return [nameOf(defaultOrderColumn), nameOf(idColumn)];
}
