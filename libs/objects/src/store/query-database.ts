import type { OnApplicationShutdown } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import {
  Database,
  type DatabaseOptions,
  isRefusedPattern,
  isStatementTimeout,
  type Queryable,
  type Tx,
} from '#database';
import { type AppError, appError } from '#errors';
import type { ObjectRow } from '../class-definition.js';
import { compileCondition, type CompiledCondition, type CompiledCount, type CompiledFind } from '../query/compile.js';
import { parseWhere } from '../query/parse.js';
import type { QueryClass, QueryScope } from '../query/query.js';

/** Each name costs memory on every connection, for the connection's lifetime. */
const MAX_NAMES = 200;
const MAX_TEXT_LENGTH = 4_096;
/** Statements with an index repeat its expressions and are longer. */
const MAX_INDEXED_TEXT_LENGTH = 32_768;
/** Uses of a text, while it is among the recent ones, before it gets a name, so that rare texts do not use up the names. */
const MIN_USES = 20;
const MAX_REMEMBERED = 1_000;

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
    if (times < MIN_USES) return undefined;
    this.#seen.delete(text);
    const added = `${this.prefix}.${this.#names.size}`;
    this.#names.set(text, added);
    return added;
  }
}

const shapes = new ShapeNames('shape', MAX_TEXT_LENGTH);
const indexed = new ShapeNames('indexed', MAX_INDEXED_TEXT_LENGTH);

export function queryFailure(error: unknown): unknown {
  if (isStatementTimeout(error)) return appError('QUERY_TIMED_OUT');
  if (isRefusedPattern(error)) {
    return appError('INVALID_QUERY', { message: 'The regular expression is too complex.', cause: error });
  }
  return error;
}

/** Of one query's rows together. It exceeds the limit of a response, because `keys` can remove most of the fields. */
export const MAX_READ_BYTES = 32 * 1_024 * 1_024;

export interface ListedTable {
  readonly table: string;
  readonly columns: string;
  readonly size: string;
}

type ListedRows = Pick<CompiledFind, 'where' | 'orderBy' | 'limit' | 'parameters'> &
  Partial<Pick<CompiledFind, 'from' | 'isIndexed'>>;

interface Place {
  readonly position: number;
  readonly bytesSoFar: string;
}

export function tooMuchFound(): AppError {
  const message = 'The objects are too large in total. Set a lower limit, or include fewer pointers.';
  return appError('OBJECT_TOO_LARGE', { message });
}

/** Loads large columns up to the limit of one request. The sum has its own ORDER BY: SQL guarantees no order for rows of a sub-query. */
export async function listBounded<Row extends object>(
  within: Queryable,
  { table, columns, size }: ListedTable,
  query: ListedRows,
): Promise<(Row & Place)[]> {
  const { from = table, where, orderBy, limit, parameters, isIndexed } = query;
  const bounded = `SELECT * FROM (
       SELECT ${columns}, bytes, sum(bytes) OVER in_order AS "bytesSoFar", (row_number() OVER in_order)::int AS position
         FROM (SELECT *, ${size} AS bytes FROM (SELECT * FROM ${from} WHERE ${where} ORDER BY ${orderBy} ${limit}) AS page) AS found
       WINDOW in_order AS (ORDER BY ${orderBy} ROWS UNBOUNDED PRECEDING)
     ) AS measured WHERE "bytesSoFar" - bytes <= $${parameters.length + 1}`;
  const values = [...parameters, MAX_READ_BYTES];
  const rows = await within.query<Row & Place>(bounded, values, preparedStatementName(bounded, isIndexed));
  rows.sort((one, other) => one.position - other.position);
  if (Number(rows.at(-1)?.bytesSoFar ?? 0) > MAX_READ_BYTES) throw tooMuchFound();
  return rows;
}

export function lookUp<Row extends object>(
  within: Queryable,
  { table, columns }: ListedTable,
  { from = table, where, orderBy, limit, parameters, isIndexed }: ListedRows,
): Promise<Row[]> {
  // One row needs no order, but the order can have parameters of its own, and PostgreSQL refuses parameters without a place.
  const sql = `SELECT ${columns} FROM ${from} WHERE ${where} ORDER BY ${orderBy} ${limit}`;
  return within.query<Row>(sql, parameters, preparedStatementName(sql, isIndexed));
}

export async function countRows(
  within: Queryable,
  { from, sql, parameters, isIndexed }: CompiledCount,
): Promise<number> {
  const statement = `SELECT count(*)::float8 AS count FROM ${from} WHERE ${sql}`;
  const name = isIndexed ? preparedStatementName(statement, true) : undefined;
  return (await within.query<{ count: number }>(statement, parameters, name))[0]?.count ?? 0;
}

/** Together the time limit of the RPC: the caller of a longer query has given up. */
const TIMEOUTS = { connectTimeoutMs: 2_000, statementTimeoutMs: 3_000 };

class ClientQueryDatabase extends Database {
  /** @throws AppError QUERY_TIMED_OUT; INVALID_QUERY where PostgreSQL refuses a regular expression */
  override async query<Row>(sql: string, parameters: readonly unknown[] = [], statementName?: string): Promise<Row[]> {
    try {
      return await super.query<Row>(sql, parameters, statementName);
    } catch (error) {
      throw queryFailure(error);
    }
  }
}

/** Slow queries of clients take no connections of other work. Queries with an index use a second pool, which plans each statement once. */
export class QueryDatabase extends ClientQueryDatabase implements OnApplicationShutdown {
  readonly indexed: Database;

  constructor(options: DatabaseOptions) {
    const bounded = { ...options, ...TIMEOUTS };
    super({ ...bounded, plans: 'each-run' });
    this.indexed = new ClientQueryDatabase({
      ...bounded,
      applicationName: `${options.applicationName}-indexed`,
      plans: 'once',
    });
  }

  for({ isIndexed }: { readonly isIndexed: boolean }): Queryable {
    return isIndexed ? this.indexed : this;
  }

  async onApplicationShutdown(): Promise<void> {
    await this.close();
  }

  override async close(): Promise<void> {
    await Promise.all([super.close(), this.indexed.close()]);
  }
}

/** The name under which a client's statement stays prepared; undefined for a rare or too long text, or once all names are used. */
export function preparedStatementName(text: string, isIndexed = false): string | undefined {
  return (isIndexed ? indexed : shapes).of(text);
}

/** Timeout of a condition on one object, in milliseconds: the check occupies a connection. */
const CONDITION_TIMEOUT_MS = 300;

type LockedObject = Pick<ObjectRow, 'objectId' | 'acl'>;

/** The condition of a write (`?where=`), checked once its object is locked. */
export interface UpdateCondition {
  /** @throws AppError NOT_FOUND where the ACL hides the object; NO_EFFECT, QUERY_TIMED_OUT, INVALID_QUERY. The transaction has failed then. */
  assertMet(tx: Tx, object: LockedObject): Promise<void>;
}

export const ALWAYS_MET: UpdateCondition = { assertMet: () => Promise.resolve() };

interface ConditionView {
  readonly queryClass: QueryClass;
  readonly scope: QueryScope;
  readonly isReadable: (object: LockedObject) => boolean;
}

export function updateCondition(where: unknown, { queryClass, scope, isReadable }: ConditionView): UpdateCondition {
  const condition = parseWhere(where);
  return {
    assertMet: async (tx, object) => {
      if (!isReadable(object)) throw appError('NOT_FOUND');
      const { objectId } = object;
      const compiled = compileCondition(condition, queryClass, scope, [scope.appId, objectId]);
      if (!(await isMet(tx, queryClass, compiled))) throw appError('NO_EFFECT');
    },
  };
}

async function isMet(
  tx: Tx,
  { table, appColumn, idColumn }: QueryClass,
  { sql, parameters }: CompiledCondition,
): Promise<boolean> {
  const statement = `SELECT 1 FROM ${table} WHERE ${appColumn} = $1 AND ${idColumn} = $2 AND ${sql}`;
  await tx.limitStatements(CONDITION_TIMEOUT_MS);
  try {
    const rows = await tx.query(statement, parameters);
    await tx.limitStatements(null);
    return rows.length > 0;
  } catch (error) {
    throw queryFailure(error);
  }
}
