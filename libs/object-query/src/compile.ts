import type { JsonValue } from '#contracts';
import { appError } from '#errors';
import type { QueryClass, QueryColumn, QueryScope } from './query-class.js';
import type { Condition, ObjectQuery, SortKey } from './query.js';

const ISO_TIME = /^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:?\d{2})?)?$/;

export interface CompiledFind {
  readonly where: string;
  readonly orderBy: string;
  /** LIMIT and OFFSET, where the query has them. */
  readonly limit: string;
  readonly parameters: readonly unknown[];
}

export interface CompiledCondition {
  readonly sql: string;
  readonly parameters: readonly unknown[];
}

/**
 * The SQL that finds the rows of a class which match the query, belong to the scope's application and may be read by its grantees.
 * @throws AppError INVALID_QUERY where the query names a hidden field
 */
export function compileFind(query: ObjectQuery, queryClass: QueryClass, scope: QueryScope): CompiledFind {
  const { bind, parameters } = new Parameters();
  const where = compileVisible(query.where, { queryClass, scope, bind });
  const orderBy = compileOrder(query.order, queryClass, bind);
  const limit = [
    query.limit === undefined ? '' : `LIMIT ${bind(query.limit)}`,
    query.skip === undefined ? '' : `OFFSET ${bind(query.skip)}`,
  ].join(' ');
  return { where, orderBy, limit, parameters };
}

/** The condition by which `compileFind` finds, alone: for counting. @throws as compileFind */
export function compileCount(where: Condition, queryClass: QueryClass, scope: QueryScope): CompiledCondition {
  const { bind, parameters } = new Parameters();
  return { sql: compileVisible(where, { queryClass, scope, bind }), parameters };
}

/**
 * The condition for a row that the statement has chosen already, as in `SELECT 1 FROM … WHERE object_id = $1 AND <sql>`: neither the
 * application nor the ACL of the row is asked. It may be SQL's NULL, which means no.
 * @param bound parameters that the statement has already; ours follow them
 */
export function compileCondition(
  where: Condition,
  queryClass: QueryClass,
  scope: QueryScope,
  bound: readonly unknown[],
): CompiledCondition {
  const { bind, parameters } = new Parameters(bound);
  return { sql: compileTree(where, { queryClass, scope, bind }), parameters };
}

class Parameters {
  readonly parameters: unknown[];

  constructor(bound: readonly unknown[] = []) {
    this.parameters = [...bound];
  }

  readonly bind = (value: unknown): string => `$${this.parameters.push(value)}`;
}

interface Context {
  readonly queryClass: QueryClass;
  readonly scope: QueryScope;
  readonly bind: Bind;
}

function compileVisible(where: Condition, context: Context): string {
  const { queryClass, scope, bind } = context;
  const isOfApp = `${queryClass.appColumn} = ${bind(scope.appId)}`;
  return [isOfApp, ...compileReadable(context), compileTree(where, context)].join(' AND ');
}

function compileReadable({ queryClass: { aclColumn }, scope: { grantees }, bind }: Context): string[] {
  if (grantees === 'master') return [];
  const grants = grantees.map((grantee) => JSON.stringify({ [grantee]: { read: true } }));
  return [`(${aclColumn} IS NULL OR ${aclColumn} @> ANY (${bind(grants)}::jsonb[]))`];
}

type Bind = (value: unknown) => string;

function compileTree(condition: Condition, context: Context): string {
  const { queryClass, bind } = context;
  switch (condition.kind) {
    case 'and': {
      const parts = condition.conditions.map((part) => compileTree(part, context));
      return parts.length === 0 ? 'TRUE' : `(${parts.join(' AND ')})`;
    }
    case 'equals': {
      const column = columnOf(condition.field, queryClass);
      return column === undefined
        ? equalsJson(condition.field, condition.value, queryClass, bind)
        : equalsColumn(column, condition.value, bind);
    }
  }
}

function compileOrder(order: readonly SortKey[], queryClass: QueryClass, bind: Bind): string {
  const keys = order.map(({ field, direction }) => {
    const column = columnOf(field, queryClass);
    return `${column?.sql ?? `${queryClass.jsonColumn} -> ${bind(field)}::text`} ${direction}`;
  });
  return [...(keys.length === 0 ? [`${queryClass.defaultOrderColumn} ASC`] : keys), `${queryClass.idColumn} ASC`].join(
    ', ',
  );
}

function columnOf(field: string, { columns, hidden }: QueryClass): QueryColumn | undefined {
  if (hidden.has(field)) throw appError('INVALID_QUERY', { message: `The field ${field} cannot be queried.` });
  return columns.get(field);
}

function equalsColumn({ sql, type }: QueryColumn, value: JsonValue, bind: Bind): string {
  if (value === null) return `${sql} IS NULL`;
  const comparable = columnValue(type, value);
  return comparable === undefined ? 'FALSE' : `${sql} = ${bind(comparable)}`;
}

/** The value as the column's type; undefined where it is of another type and so equals nothing. */
function columnValue(type: QueryColumn['type'], value: JsonValue): unknown {
  switch (type) {
    case 'text':
      return typeof value === 'string' ? value : undefined;
    case 'boolean':
      return typeof value === 'boolean' ? value : undefined;
    case 'date':
      return dateOf(value);
  }
}

/** A bare ISO string, or the API's Date type. */
function dateOf(value: JsonValue): Date | undefined {
  const iso = typeof value === 'object' && value !== null && !Array.isArray(value) ? value['iso'] : value;
  const date = typeof iso === 'string' && ISO_TIME.test(iso) ? new Date(iso) : undefined;
  return date !== undefined && isStorableDate(date) ? date : undefined;
}

/** A time of the common era with a year of four digits; invalid dates have no year. */
function isStorableDate(date: Date): boolean {
  const year = date.getUTCFullYear();
  return year >= 1 && year <= 9999;
}

/** A custom field equals the value, or is an array that holds it. Containment lets the GIN index find the rows. */
function equalsJson(field: string, value: JsonValue, { jsonColumn }: QueryClass, bind: Bind): string {
  if (value === null) return `COALESCE(${jsonColumn} -> ${bind(field)}::text, 'null') = 'null'`;
  const contains = (document: JsonValue) => `${jsonColumn} @> ${bind(JSON.stringify({ [field]: document }))}::jsonb`;
  const holds = contains([value]);
  if (typeof value !== 'object') return `(${contains(value)} OR ${holds})`;
  const isSame = `${jsonColumn} -> ${bind(field)}::text = ${bind(JSON.stringify(value))}::jsonb`;
  return `((${contains(value)} AND ${isSame}) OR ${holds})`;
}
