import type { Queryable } from '#database';
import { appError } from '#errors';
import type { CompiledCount, CompiledFind } from '#object-query';
import { shapeName } from './shape-name.js';

/** Of one query's rows together, custom fields and `authData`: more than an answer may hold, since `keys` can leave most of them out. */
const MAX_BYTES = 32 * 1_024 * 1_024;

/** Which rows a query reads, and what it shows of them. */
interface ListedTable {
  /** Name of the table, with its schema. */
  readonly table: string;
  /** SQL for the columns of the answer. */
  readonly columns: string;
  /** SQL for what one row counts, in bytes, of the table's own columns: its custom fields, unless given. */
  readonly size?: string;
}

/** Which rows, in what order. */
type ListedRows = Pick<CompiledFind, 'where' | 'orderBy' | 'limit' | 'parameters'> &
  Partial<Pick<CompiledFind, 'from' | 'isIndexed'>>;

/** What a row comes with. */
interface Place {
  /** In the order that was asked for, from 1 on. */
  readonly position: number;
  /** Of this row and those before it. */
  readonly bytesSoFar: string;
}

/**
 * Runs a query, in the order that it asks for, and loads no more of its large columns than one request may cost. SQL promises no order of a
 * sub-query's rows, nor of what a filter leaves of them: the sum is ordered by itself, and each row says its place.
 * @throws AppError OBJECT_TOO_LARGE
 */
export async function listBounded<Row extends object>(
  within: Queryable,
  { table, columns, size = 'octet_length(fields::text)' }: ListedTable,
  query: ListedRows,
): Promise<Row[]> {
  const { from = table, where, orderBy, limit, parameters, isIndexed } = query;
  const bounded = `SELECT * FROM (
       SELECT ${columns}, bytes, sum(bytes) OVER in_order AS "bytesSoFar", (row_number() OVER in_order)::int AS position
         FROM (SELECT *, ${size} AS bytes FROM (SELECT * FROM ${from} WHERE ${where} ORDER BY ${orderBy} ${limit}) AS page) AS found
       WINDOW in_order AS (ORDER BY ${orderBy} ROWS UNBOUNDED PRECEDING)
     ) AS measured WHERE "bytesSoFar" - bytes <= $${parameters.length + 1}`;
  const values = [...parameters, MAX_BYTES];
  const rows = await within.query<Row & Place>(bounded, values, shapeName(bounded, isIndexed));
  rows.sort((one, other) => one.position - other.position);
  if (Number(rows.at(-1)?.bytesSoFar ?? 0) > MAX_BYTES) throw appError('OBJECT_TOO_LARGE');
  return rows;
}

/** How many rows a query finds. */
export async function countRows(
  within: Queryable,
  { from, sql, parameters, isIndexed }: CompiledCount,
): Promise<number> {
  const statement = `SELECT count(*)::float8 AS count FROM ${from} WHERE ${sql}`;
  const name = isIndexed ? shapeName(statement, true) : undefined;
  return (await within.query<{ count: number }>(statement, parameters, name))[0]?.count ?? 0;
}
