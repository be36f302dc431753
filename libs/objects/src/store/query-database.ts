import { LRUCache } from 'lru-cache';
import { Database, type DatabaseOptions, isRefusedPattern, isStatementTimeout, type Queryable } from '#database';
import { appError } from '#errors';
import type { CompiledCount, CompiledFind } from '../query/compile.js';

/** A failure of a statement that a client worded, as one that is the client's: QUERY_TIMED_OUT, INVALID_QUERY. Others stay as they are. */
export function queryFailure(error: unknown): unknown {
  if (isStatementTimeout(error)) return appError('QUERY_TIMED_OUT');
  if (isRefusedPattern(error)) {
    return appError('INVALID_QUERY', { message: 'The regular expression is too complex.', cause: error });
  }
  return error;
}

/** Each costs every connection some memory, for as long as it lives. */
const MAX_NAMES = 200;
const MAX_TEXT_LENGTH = 4_096;
/** What asks an index says each of its expressions several times. */
const MAX_INDEXED_TEXT_LENGTH = 32_768;
/** So often a text comes, while it is among those that came last, before it gets a name: no caller's odd ones use the names up by chance. */
const TIMES = 20;
const MAX_REMEMBERED = 1_000;

/** Names for statements of one kind. */
class ShapeNames {
  readonly #names = new Map<string, string>();
  readonly #seen = new LRUCache<string, number>({ max: MAX_REMEMBERED });

  constructor(
    private readonly prefix: string,
    private readonly maxTextLength: number,
  ) {}

  of(text: string): string | undefined {
    const name = this.#names.get(text);
    if (name !== undefined || this.#names.size === MAX_NAMES || text.length > this.maxTextLength) return name;
    const times = (this.#seen.get(text) ?? 0) + 1;
    this.#seen.set(text, times);
    if (times < TIMES) return undefined;
    this.#seen.delete(text);
    const added = `${this.prefix}.${this.#names.size}`;
    this.#names.set(text, added);
    return added;
  }
}

const shapes = new ShapeNames('shape', MAX_TEXT_LENGTH);
const indexed = new ShapeNames('indexed', MAX_INDEXED_TEXT_LENGTH);

/**
 * The name under which a statement that a client worded stays prepared, for good. Queries of one kind differ in their values only: so few texts come
 * again and again.
 * @param isIndexed whether an index of custom fields answers it: such statements have names, and connections, of their own
 * @returns undefined for a text that has not come often, is long, or comes when all names are given
 */
export function shapeName(text: string, isIndexed = false): string | undefined {
  return (isIndexed ? indexed : shapes).of(text);
}

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

/** A query that takes longer helps nobody, in milliseconds. Less than the caller of an RPC waits. */
const STATEMENT_TIMEOUT_MS = 3_000;

/** A database for statements that clients word. */
class WordedDatabase extends Database {
  /** @throws AppError QUERY_TIMED_OUT; INVALID_QUERY where PostgreSQL refuses a regular expression */
  override async query<Row>(sql: string, parameters: readonly unknown[] = [], statementName?: string): Promise<Row[]> {
    try {
      return await super.query<Row>(sql, parameters, statementName);
    } catch (error) {
      throw queryFailure(error);
    }
  }
}

/**
 * Connections of their own for queries that clients word themselves, and that are more than a look-up: however many and slow
 * those are, what else the service does keeps its own. Give it half as many as the others. What an index of custom fields answers has as many
 * besides, since a connection plans its statements either for each run or once; they are opened only where there are such indexes.
 */
export class QueryDatabase extends WordedDatabase {
  /** What has one plan, whatever the values. */
  readonly indexed: Database;

  constructor(options: DatabaseOptions) {
    const bounded = { ...options, statementTimeoutMs: STATEMENT_TIMEOUT_MS };
    super({ ...bounded, plans: 'each-run' });
    this.indexed = new WordedDatabase({
      ...bounded,
      applicationName: `${options.applicationName}-indexed`,
      plans: 'once',
    });
  }

  /** Where a query runs. */
  for({ isIndexed }: { readonly isIndexed: boolean }): Queryable {
    return isIndexed ? this.indexed : this;
  }

  override async close(): Promise<void> {
    await Promise.all([super.close(), this.indexed.close()]);
  }
}
