import type { JsonValue } from '#contracts';
import { dateOf, isJsonObject, type Pointer } from '../values.js';
import {
  anyOf,
  bytewise,
  columnAsJson,
  type CompileContext,
  matchText,
  not,
  selectedValues,
  type TestCompilers,
} from './compile-context.js';
import { jsonTarget, jsonTests } from './compile-json.js';
import {
  fieldValue,
  type IndexedEquality,
  indexedParts,
  type IndexedRange,
  indexedText,
  RANKS,
} from './field-index.js';
import {
  type FieldCondition,
  type FieldTestKind,
  type FieldTestOf,
  invalidQuery,
  type QueryClass,
  type QueryColumn,
  type QueryRelation,
  type RelatedCondition,
  targetOf,
} from './query.js';

const SQL_TYPES: Readonly<Record<QueryColumn['type'], string>> = {
  text: 'text',
  boolean: 'boolean',
  date: 'timestamptz',
};

/** The tests for fields with a column. A value of another type equals no value of the column, and is not comparable with it. */
const columnTests: TestCompilers<QueryColumn> = {
  isAnyOf: ({ values }, column, context) => isAnyOfValues(values, column, context),
  holdsAll: ({ values }, column, context) =>
    new Set(values).size === 1 ? isAnyOfValues(values, column, context) : 'FALSE',
  compares: ({ operator, value }, column, { statement }) => {
    const comparable = columnValue(column, value);
    return comparable === undefined ? 'FALSE' : `${sortable(column)} ${operator} ${statement.bind(comparable)}`;
  },
  exists: (_, { sql }) => `${sql} IS NOT NULL`,
  hasSize: () => 'FALSE',
  matches: (test, { sql, type }, context) => (type === 'text' ? matchText(sql, test, context) : 'FALSE'),
  isNear: () => {
    throw invalidQuery('$nearSphere requires a field that can hold a GeoPoint.');
  },
  isWithin: () => 'FALSE',
  isInQuery: () => {
    throw invalidQuery('$inQuery and $notInQuery require a field that can hold a Pointer.');
  },
  isSelected: (test, column, context) => {
    const values = selectedValues(test, context);
    return column.type === 'text'
      ? `${column.sql} IN (SELECT value #>> '{}' FROM ${values} WHERE jsonb_typeof(value) = 'string')`
      : `${columnAsJson(column)} IN (SELECT value FROM ${values} WHERE value IS NOT NULL)`;
  },
};

/** The SQL of one condition on one field; NULL counts as false. @throws AppError INVALID_QUERY where the field does not support the test */
export function compileField({ field, test }: FieldCondition, context: CompileContext): string {
  const target = targetOf(field, context.queryClass, test.kind);
  switch (target.kind) {
    case 'column':
      return compileTest(test, columnTests, target.column, context);
    case 'relation':
      return compileTest(test, relationTests, target.relation, context);
    case 'json':
      return compileTest(test, jsonTests, jsonTarget(field, context), context);
  }
}

function compileTest<Kind extends FieldTestKind, Target>(
  test: FieldTestOf<Kind>,
  tests: TestCompilers<Target>,
  target: Target,
  context: CompileContext,
): string {
  return tests[test.kind](test, target, context);
}

interface FieldSearch {
  /** Rows whose value is not a list; exact by the index. */
  readonly single: string;
  /** Rows whose value is a list, whose items may match; exact by the index. */
  readonly list: string;
  readonly any: string;
}

/** No row is in two parts. The first looks values up; each other one covers the lists of one field: a field worth indexing holds few. */
export function searchParts(
  narrowing: readonly (IndexedEquality | IndexedRange)[],
  context: CompileContext,
): [values: string, ...lists: string[]] {
  const asked = narrowing.map((part) => askedOf(part, context));
  const inAllOf = asked.map(({ single }) => single);
  const withList = asked.map(({ list }, place) => [
    ...inAllOf.slice(0, place),
    list,
    ...asked.slice(place + 1).map(({ any }) => any),
  ]);
  const [values, ...lists] = [inAllOf, ...withList].map((conditions) => conditions.join(' AND '));
  return [values ?? 'TRUE', ...lists];
}

function askedOf(part: IndexedEquality | IndexedRange, context: CompileContext): FieldSearch {
  const conditions = part.kind === 'equals' ? [part.condition] : part.conditions;
  const any = conditions.map((condition) => compileField(condition, context)).join(' AND ');
  const { rank } = indexedParts(fieldValue(part.field, context.queryClass));
  const isSought = part.kind === 'equals' ? equals(part, context) : isWithin(part, context);
  const isExact = part.kind === 'equals' || part.rank === RANKS.number;
  const single = [`${rank} = ${part.rank}`, isSought, ...(isExact ? [] : [any])].join(' AND ');
  return { single, list: `${rank} = ${RANKS.array} AND ${any}`, any };
}

/** The index contains only a prefix of a text, so the full value is compared, too. */
function equals({ field, rank, values }: IndexedEquality, { queryClass, statement }: CompileContext): string {
  const value = fieldValue(field, queryClass);
  const { number, text } = indexedParts(value);
  const isNumber = rank === RANKS.number;
  const [only, ...others] = values;
  if (others.length === 0) {
    const sought = `${statement.bind(JSON.stringify(only))}::jsonb`;
    if (isNumber) return `${number} = (${sought})::numeric AND ${text} = ''`;
    return `${number} = 0 AND ${text} = ${indexedText(`(${sought} #>> '{}')`)} AND ${value} = ${sought}`;
  }
  const sought = `${statement.bind(values.map((each) => JSON.stringify(each)))}::jsonb[]`;
  const each = (sql: string) => `ANY (ARRAY(SELECT ${sql} FROM unnest(${sought}) AS sought(value)))`;
  if (isNumber) return `${number} = ${each('value::numeric')}`;
  return `${number} = 0 AND ${text} = ${each(indexedText(`(value #>> '{}')`))} AND ${value} = ANY (${sought})`;
}

/** For texts, the bounds are compared by prefix: the index range is equal to or wider than the requested one. */
function isWithin({ field, rank, tests }: IndexedRange, { queryClass, statement }: CompileContext): string {
  const { number, text } = indexedParts(fieldValue(field, queryClass));
  const bounds = tests.map(({ operator, value }) => {
    const bound = `${statement.bind(JSON.stringify(value))}::jsonb`;
    if (rank === RANKS.number) return `${number} ${operator} (${bound})::numeric`;
    return `${text} ${operator.charAt(0)}= ${indexedText(`(${bound} #>> '{}')`)}`;
  });
  return [...(rank === RANKS.number ? [] : [`${number} = 0`]), ...bounds].join(' AND ');
}

export function sortable({ sql, type }: QueryColumn): string {
  return type === 'text' ? bytewise(sql) : sql;
}

function isAnyOfValues(values: readonly JsonValue[], column: QueryColumn, { statement }: CompileContext): string {
  const { sql, type } = column;
  const comparable = values.map((value) => columnValue(column, value)).filter((value) => value !== undefined);
  const isNothing = values.includes(null) ? [`${sql} IS NULL`] : [];
  if (comparable.length === 0) return anyOf(isNothing);
  const isValue =
    comparable.length === 1
      ? `${sql} = ${statement.bind(comparable[0])}`
      : `${sql} = ANY (${statement.bind(comparable)}::${SQL_TYPES[type]}[])`;
  return anyOf([isValue, ...isNothing]);
}

/** The value as the column's type; undefined for another type. A date may be a bare ISO string. */
function columnValue({ type, storedForm }: QueryColumn, value: JsonValue): string | boolean | undefined {
  switch (type) {
    case 'text':
      return typeof value === 'string' ? (storedForm?.(value) ?? value) : undefined;
    case 'boolean':
      return typeof value === 'boolean' ? value : undefined;
    case 'date':
      return dateOf(value)?.toISOString();
  }
}

export const relationTests: TestCompilers<QueryRelation> = {
  isAnyOf: ({ values }, relation, context) =>
    anyOf([
      isOwner(relation, context, `${relation.memberColumn} = ANY (${bindIds(memberIds(values, relation), context)})`),
      ...(values.includes(null) ? [not(isOwner(relation, context))] : []),
    ]),
  holdsAll: ({ values }, relation, context) => {
    const ids = new Set(memberIds(values, relation));
    if (ids.size === 0 || values.some((value) => !isMember(value, relation))) return 'FALSE';
    const { table, appColumn, memberColumn, ownerColumn } = relation;
    const { queryClass, scope, statement } = context;
    const holdsOne = `${appColumn} = ${statement.bind(scope.appId)} AND ${memberColumn} = ANY (${bindIds([...ids], context)})`;
    const holdsAll = `GROUP BY ${ownerColumn} HAVING count(DISTINCT ${memberColumn}) = ${statement.bind(ids.size)}`;
    return `${queryClass.idColumn} IN (SELECT ${ownerColumn} FROM ${table} WHERE ${holdsOne} ${holdsAll})`;
  },
  exists: (_, relation, context) => isOwner(relation, context),
  isInQuery: ({ query }, relation, context) => {
    if (query.className !== relation.className)
      throw invalidQuery(`The relation holds objects of the class ${relation.className}.`);
    const ids = context.select(query, ({ queryClass }) => queryClass.idColumn);
    return isOwner(relation, context, `${relation.memberColumn} IN (${ids})`);
  },
  compares: refuse,
  hasSize: refuse,
  matches: refuse,
  isNear: refuse,
  isWithin: refuse,
  isSelected: refuse,
};

/** The condition of `$relatedTo`. @throws AppError INVALID_QUERY where the object's class has no such relation to this class */
export function isMemberOf(
  { object, key }: RelatedCondition,
  owner: QueryClass,
  { queryClass, scope, statement: { bind } }: CompileContext,
  isReadable: string,
): string {
  const relation = owner.relations.get(key);
  if (relation?.className !== queryClass.className)
    throw invalidQuery(`The class ${owner.className} has no relation ${key} to ${queryClass.className}.`);
  const { table, appColumn, ownerColumn, memberColumn } = relation;
  const isObject = `${isReadable} AND ${owner.idColumn} = ${bind(object.objectId)}`;
  const owners = `SELECT ${owner.idColumn} FROM ${owner.table} WHERE ${isObject}`;
  const isOwned = `${appColumn} = ${bind(scope.appId)} AND ${ownerColumn} IN (${owners})`;
  return `EXISTS (SELECT FROM ${table} WHERE ${isOwned} AND ${memberColumn} = ${idOf(queryClass)})`;
}

/** Not `IN`: where the condition is negated, PostgreSQL would read the whole list for each object once the list exceeds its memory. */
function isOwner(
  { table, appColumn, ownerColumn }: QueryRelation,
  { queryClass, scope, statement }: CompileContext,
  condition = 'TRUE',
): string {
  const isOfApp = `${appColumn} = ${statement.bind(scope.appId)}`;
  return `EXISTS (SELECT FROM ${table} WHERE ${isOfApp} AND ${ownerColumn} = ${idOf(queryClass)} AND ${condition})`;
}

/** With its table, so that a sub-query can refer to the object of the query around it. */
function idOf({ table, idColumn }: QueryClass): string {
  return `${table}.${idColumn}`;
}

function bindIds(ids: readonly string[], { statement }: CompileContext): string {
  return `${statement.bind(ids)}::text[]`;
}

function memberIds(values: readonly JsonValue[], relation: QueryRelation): string[] {
  return values.filter((value) => isMember(value, relation)).map(({ objectId }) => objectId);
}

/** Values have their canonical form, so an object in the form of a pointer is a pointer. */
function isMember(value: JsonValue, { className }: QueryRelation): value is { [Key in keyof Pointer]: string } {
  return isJsonObject(value) && value['__type'] === 'Pointer' && value['className'] === className;
}

function refuse(): never {
  throw invalidQuery('A relation only supports equality, $ne, $in, $nin, $all, $exists, $inQuery and $notInQuery.');
}
