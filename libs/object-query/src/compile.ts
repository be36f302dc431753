import type { JsonValue } from '#contracts';
import { appError } from '#errors';
import type { Condition, ObjectQuery, SortKey } from './query.js';

const ISO_TIME = /^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:?\d{2})?)?$/;

type ColumnType = 'text' | 'boolean' | 'date';

interface QueryColumn {
  readonly sql: string;
  readonly type: ColumnType;
}

/** What of a table may be queried. Names that are neither here nor hidden are custom fields, kept in the JSON column. */
export interface QueryFields {
  readonly columns: ReadonlyMap<string, QueryColumn>;
  readonly hidden: ReadonlySet<string>;
  readonly jsonColumn: string;
  /** By what rows are ordered where the query does not say. */
  readonly defaultOrderColumn: string;
  /** Breaks ties of the order, so that pages neither overlap nor leave gaps. */
  readonly idColumn: string;
}

export interface CompiledQuery {
  readonly where: string;
  readonly orderBy: string;
  readonly limit: string;
  readonly parameters: readonly unknown[];
}

/**
 * Turns a query into SQL. Every value and every custom field's name becomes a parameter; columns come from the list.
 * @param bound parameters that the statement has already; ours follow them
 * @throws AppError INVALID_QUERY where the query names a hidden field
 */
export function compileQuery(query: ObjectQuery, fields: QueryFields, bound: readonly unknown[]): CompiledQuery {
  const parameters = [...bound];
  const bind = (value: unknown) => `$${parameters.push(value)}`;
  const where = compileCondition(query.where, fields, bind);
  const orderBy = compileOrder(query.order, fields, bind);
  const limit = [
    query.limit === undefined ? '' : `LIMIT ${bind(query.limit)}`,
    query.skip === undefined ? '' : `OFFSET ${bind(query.skip)}`,
  ].join(' ');
  return { where, orderBy, limit, parameters };
}

type Bind = (value: unknown) => string;

function compileCondition(condition: Condition, fields: QueryFields, bind: Bind): string {
  switch (condition.kind) {
    case 'and': {
      const parts = condition.conditions.map((part) => compileCondition(part, fields, bind));
      return parts.length === 0 ? 'TRUE' : `(${parts.join(' AND ')})`;
    }
    case 'equals': {
      const column = columnOf(condition.field, fields);
      return column === undefined
        ? equalsJson(condition.field, condition.value, fields, bind)
        : equalsColumn(column, condition.value, bind);
    }
  }
}

function compileOrder(order: readonly SortKey[], fields: QueryFields, bind: Bind): string {
  const keys = order.map(({ field, direction }) => {
    const column = columnOf(field, fields);
    return `${column?.sql ?? `${fields.jsonColumn} -> ${bind(field)}::text`} ${direction}`;
  });
  return [...(keys.length === 0 ? [`${fields.defaultOrderColumn} ASC`] : keys), `${fields.idColumn} ASC`].join(', ');
}

function columnOf(field: string, { columns, hidden }: QueryFields): QueryColumn | undefined {
  if (hidden.has(field)) throw appError('INVALID_QUERY', { message: `The field ${field} cannot be queried.` });
  return columns.get(field);
}

function equalsColumn({ sql, type }: QueryColumn, value: JsonValue, bind: Bind): string {
  if (value === null) return `${sql} IS NULL`;
  const comparable = columnValue(type, value);
  return comparable === undefined ? 'FALSE' : `${sql} = ${bind(comparable)}`;
}

/** The value as the column's type; undefined where it is of another type and so equals nothing. */
function columnValue(type: ColumnType, value: JsonValue): unknown {
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
function equalsJson(field: string, value: JsonValue, { jsonColumn }: QueryFields, bind: Bind): string {
  if (value === null) return `COALESCE(${jsonColumn} -> ${bind(field)}::text, 'null') = 'null'`;
  const contains = (document: JsonValue) => `${jsonColumn} @> ${bind(JSON.stringify({ [field]: document }))}::jsonb`;
  const holds = contains([value]);
  if (typeof value !== 'object') return `(${contains(value)} OR ${holds})`;
  const isSame = `${jsonColumn} -> ${bind(field)}::text = ${bind(JSON.stringify(value))}::jsonb`;
  return `((${contains(value)} AND ${isSame}) OR ${holds})`;
}
