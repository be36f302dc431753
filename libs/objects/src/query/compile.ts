import { allOf, anyOf, bytewise, type CompileContext, isIndexed, jsonAt, not, Statement } from './compile-context.js';
import { compileField, isMemberOf, searchParts, sortable } from './compile-field.js';
import { orderByDistance } from './compile-json.js';
import {
  bestFit,
  conjunction,
  type FieldIndex,
  indexedParts,
  type IndexFit,
  isOfApplication,
  TYPE_ORDER,
} from './field-index.js';
import {
  type Condition,
  type FieldPath,
  invalidQuery,
  type ObjectQuery,
  type QueryClass,
  type QueryColumn,
  type QueryScope,
  type SortKey,
  type SubQuery,
  targetOf,
} from './query.js';

export interface CompiledFind {
  readonly from: string;
  readonly where: string;
  readonly orderBy: string;
  readonly limit: string;
  readonly parameters: readonly unknown[];
  /** Whether the query only looks up one value of a unique column: at most one row, and the same plan for all values. */
  readonly isLookUp: boolean;
  /** Whether an index of custom fields covers the whole query, so that one generic plan fits all values. */
  readonly isIndexed: boolean;
}

export interface CompiledCount {
  readonly from: string;
  readonly sql: string;
  readonly parameters: readonly unknown[];
  readonly isIndexed: boolean;
}

export interface CompiledCondition {
  readonly sql: string;
  readonly parameters: readonly unknown[];
}

const MAX_COMPARED_GRANTEES = 8;

/** The application's rows that match and that the grantees may read. The indexes change how rows are found, never which. */
export function compileFind(
  query: ObjectQuery,
  queryClass: QueryClass,
  scope: QueryScope,
  indexes: readonly FieldIndex[] = [],
): CompiledFind {
  const statement = new Statement();
  const fit = bestFit(query, indexes, queryClass);
  const context = { ...contextOf(queryClass, scope, statement), index: fit?.index };
  const compiled = fit === undefined ? compileQuery(query, context) : compileFitting(query, fit, context);
  return {
    from: queryClass.table,
    ...compiled,
    parameters: statement.parameters,
    isLookUp: isLookUp(query.where, queryClass),
    isIndexed: fit?.isWhole === true,
  };
}

export function compileCount(
  where: Condition,
  queryClass: QueryClass,
  scope: QueryScope,
  indexes: readonly FieldIndex[] = [],
): CompiledCount {
  const statement = new Statement();
  const context = contextOf(queryClass, scope, statement);
  const fit = bestFit({ where, order: [] }, indexes, queryClass);
  if (fit === undefined) {
    const sql = compileVisible(where, context);
    return { from: queryClass.table, sql, parameters: statement.parameters, isIndexed: false };
  }
  const from = compileParts(where, fit, { ...context, index: fit.index });
  return { from, sql: 'TRUE', parameters: statement.parameters, isIndexed: fit.isWhole };
}

/** A condition on a selected row: without application and ACL. NULL counts as false. Its parameters follow those of `bound`. */
export function compileCondition(
  where: Condition,
  queryClass: QueryClass,
  scope: QueryScope,
  bound: readonly unknown[],
): CompiledCondition {
  const statement = new Statement(bound);
  const sql = compileTree(where, contextOf(queryClass, scope, statement));
  return { sql, parameters: statement.parameters };
}

function isLookUp(where: Condition, queryClass: QueryClass): boolean {
  if (where.kind === 'and') {
    const [only, ...others] = where.conditions;
    return only !== undefined && others.length === 0 && isLookUp(only, queryClass);
  }
  if (where.kind !== 'field' || where.test.kind !== 'isAnyOf') return false;
  const target = targetOf(where.field, queryClass, where.test.kind);
  const [value, ...others] = where.test.values;
  return (
    target.kind === 'column' && target.column.isUnique === true && typeof value === 'string' && others.length === 0
  );
}

function contextOf(queryClass: QueryClass, scope: QueryScope, statement: Statement): CompileContext {
  return {
    queryClass,
    scope,
    statement,
    select: (query, column) =>
      compileSelect(query, contextOf(scope.classOf(query.className), scope, statement), column),
  };
}

function compileSelect(query: SubQuery, context: CompileContext, column: (within: CompileContext) => string): string {
  const { where, orderBy, limit } = compileQuery(query, context);
  return `SELECT ${column(context)} FROM ${context.queryClass.table} WHERE ${where} ORDER BY ${orderBy} ${limit}`;
}

function compileQuery(query: ObjectQuery, context: CompileContext): Pick<CompiledFind, 'where' | 'orderBy' | 'limit'> {
  const { bind } = context.statement;
  return {
    where: compileVisible(query.where, context),
    orderBy: compileOrder(query, context),
    limit: [
      ...(query.limit === undefined ? [] : [`LIMIT ${bind(query.limit)}`]),
      ...(query.skip === undefined ? [] : [`OFFSET ${bind(query.skip)}`]),
    ].join(' '),
  };
}

function compileFitting(
  query: ObjectQuery,
  fit: IndexFit,
  context: CompileContext,
): Pick<CompiledFind, 'where' | 'orderBy' | 'limit'> & { readonly from?: string } {
  if (fit.narrowing.length === 0) return compileQuery(query, context);
  const orderBy = compileOrder(query, context);
  const { limit, skip } = query;
  const { bind } = context.statement;
  const [wanted, skipped] = [limit, skip].map((count) => (count === undefined ? undefined : `${bind(count)}::bigint`));
  const enough = wanted === undefined ? '' : `LIMIT ${[wanted, skipped].filter(Boolean).join(' + ')}`;
  return {
    from: compileParts(query.where, fit, context, `ORDER BY ${orderBy} ${enough}`),
    where: 'TRUE',
    orderBy,
    limit: [
      ...(wanted === undefined ? [] : [`LIMIT ${wanted}`]),
      ...(skipped === undefined ? [] : [`OFFSET ${skipped}`]),
    ].join(' '),
  };
}

function compileParts(where: Condition, { narrowing }: IndexFit, context: CompileContext, ending = ''): string {
  const [values, ...lists] = searchParts(narrowing, context);
  const byIndex = new Set<Condition>(
    narrowing.flatMap((part) => (part.kind === 'equals' ? [part.condition] : part.conditions)),
  );
  const others = conjunction(where).filter((condition) => !byIndex.has(condition));
  const both = [compileReadable(context), ...others.map((condition) => compileTree(condition, context))].join(' AND ');
  const rowsOf = (part: string) => `SELECT * FROM ${context.queryClass.table} WHERE ${both} AND ${part}`;
  // OFFSET 0 keeps the order out of the choice of the index: a search for lists never finds them in order, and another index that
  // has the order would be read from end to end for the few lists.
  const searches = [
    `(${rowsOf(values)} ${ending})`,
    ...lists.map((part) => `(SELECT * FROM (${rowsOf(part)} OFFSET 0) AS with_list ${ending})`),
  ];
  return `(${searches.join(' UNION ALL ')}) AS found_by_index`;
}

function compileVisible(where: Condition, context: CompileContext): string {
  return `${compileReadable(context)} AND ${compileTree(where, context)}`;
}

function compileReadable(context: CompileContext): string {
  const {
    queryClass,
    index,
    scope: { appId, grantees },
    statement: { bind },
  } = context;
  const { onlyId, idColumn } = queryClass;
  const ofApp = index === undefined ? `${queryClass.appColumn} = ${bind(appId)}` : isOfApplication(appId, queryClass);
  const isOfApp = onlyId === undefined ? ofApp : `${ofApp} AND ${idColumn} = ${bind(onlyId)}`;
  if (grantees === 'master') return isOfApp;
  const { aclColumn } = queryClass;
  return `${isOfApp} AND (${aclColumn} IS NULL OR ${isGranted(aclColumn, grantees, bind)})`;
}

/** Compares each ACL with all grantees, or, of callers with many roles, each entry with a sorted object of them: anyone can add a user to roles. */
function isGranted(aclColumn: string, grantees: readonly string[], bind: Statement['bind']): string {
  if (grantees.length <= MAX_COMPARED_GRANTEES) {
    const grants = grantees.map((grantee) => JSON.stringify({ [grantee]: { read: true } }));
    return `${aclColumn} @> ANY (${bind(grants)}::jsonb[])`;
  }
  const names = `${bind(JSON.stringify(Object.fromEntries(grantees.map((grantee) => [grantee, true]))))}::jsonb`;
  return `EXISTS (SELECT FROM jsonb_each(${aclColumn}) AS entry (name, rights)
    WHERE ${names} ? entry.name AND entry.rights @> '{"read": true}')`;
}

function compileTree(condition: Condition, context: CompileContext): string {
  switch (condition.kind) {
    case 'and':
      return allOf(condition.conditions.map((part) => compileTree(part, context)));
    case 'or':
      return anyOf(condition.conditions.map((part) => compileTree(part, context)));
    case 'not':
      return not(compileTree(condition.condition, context));
    case 'related': {
      const owners = contextOf(context.scope.classOf(condition.object.className), context.scope, context.statement);
      return isMemberOf(condition, owners.queryClass, context, compileReadable(owners));
    }
    case 'field':
      return compileField(condition, context);
  }
}

/** As requested, else nearest first, else the class's default. The id breaks ties in the direction of the last key: an index serves both. */
function compileOrder({ order, where }: ObjectQuery, context: CompileContext): string {
  const { defaultOrderColumn, idColumn } = context.queryClass;
  const asked = order.flatMap((key) => compileSortKey(key, context));
  const implied = asked.length === 0 ? orderByDistance(where, context) : asked;
  const keys = implied.length === 0 ? [`${defaultOrderColumn} ASC`] : implied;
  return [...keys, `${idColumn} ${order.at(-1)?.direction ?? 'ASC'}`].join(', ');
}

function compileSortKey({ field, direction }: SortKey, context: CompileContext): string[] {
  const target = targetOf(field, context.queryClass);
  switch (target.kind) {
    case 'column':
      return [sortByColumn(target.column, direction)];
    case 'json':
      return sortByJson(field, direction, context);
    case 'relation':
      throw invalidQuery(`The field ${field[0]} is a relation and cannot be a sort key.`);
  }
}

function sortByColumn(column: QueryColumn, direction: SortKey['direction']): string {
  const nulls = direction === 'ASC' ? 'NULLS FIRST' : 'NULLS LAST';
  return `${sortable(column)} ${direction}${column.isNullable === true ? ` ${nulls}` : ''}`;
}

/** Sorts by type, then numbers by value and other types by their text; texts of Dates sort chronologically. */
function sortByJson(path: FieldPath, direction: SortKey['direction'], context: CompileContext): string[] {
  const value = jsonAt(path, context);
  const text = `${bytewise(`(${value} #>> '{}')`)} ${direction}`;
  if (isIndexed(path, context)) {
    const { rank, number, text: beginning } = indexedParts(value);
    return [`${rank} ${direction}`, `${number} ${direction}`, `${beginning} ${direction}`, text];
  }
  const type = `jsonb_typeof(${value})`;
  return [
    `COALESCE(array_position(${TYPE_ORDER}, ${type}), 1) ${direction}`,
    `CASE ${type} WHEN 'number' THEN ${value}::numeric END ${direction}`,
    text,
  ];
}
