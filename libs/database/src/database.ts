import { setTimeout as sleep } from 'node:timers/promises';
import { Pool, type PoolClient, type QueryConfig, type QueryResult } from 'pg';
import type { EntityManager } from 'typeorm';
import { appError } from '#errors';
import { inSpan, isTracing, type Metrics, type SpanOptions } from '#observability';
import { type DatabaseOptions, ServiceDataSource } from './data-source.js';
import { isDeadlock, isStatementTimeout, translateDriverError } from './driver-error.js';
import { runAlone, runPrepared, type Statement } from './statement.js';

/** PostgreSQL finds a deadlock after a second, and the callers of a service wait five or more. */
const MAX_RUNS = 3;
/** Two transactions that begin again at the same time would meet again. */
const LONGEST_PAUSE_MS = 50;
const SHOWN_SQL_LENGTH = 1_000;
const FIRST_WORD = /^\s*(\w+)/;
const TABLE = /\b(?:FROM|INTO|UPDATE|JOIN)\s+([a-z_]+\.[a-z_]+)/;

/** The span of a statement. The text comes from the code; values are parameters and are not part of the span. */
export function sqlSpan(sql: string): SpanOptions {
  const operation = FIRST_WORD.exec(sql)?.[1] ?? 'SQL';
  const table = TABLE.exec(sql)?.[1];
  return {
    name: table === undefined ? operation : `${operation} ${table}`,
    kind: 'client',
    attributes: {
      'db.system.name': 'postgresql',
      'db.query.text': sql.replace(/\s+/g, ' ').trim().slice(0, SHOWN_SQL_LENGTH),
    },
  };
}

/** Runs SQL. Values are always parameters; the text comes from the code. */
export interface Queryable {
  /** @param statementName keeps the statement prepared; it must be unique to this text. Plans soon ignore the values (option `plans`). */
  query<Row>(sql: string, parameters?: readonly unknown[], statementName?: string): Promise<Row[]>;
}

export interface SqlExecutor extends Queryable {
  run<Row>(statement: Statement): Promise<Row[]>;
}

/** Methods that must be part of a transaction require this type, which only `Database.transaction` creates. */
export class Tx implements SqlExecutor {
  readonly #client: PoolClient;
  readonly #dataSource: ServiceDataSource;
  readonly #afterCommit: (() => void)[] = [];
  #manager: EntityManager | undefined;

  constructor(client: PoolClient, dataSource: ServiceDataSource) {
    this.#client = client;
    this.#dataSource = dataSource;
  }

  /** Entity repositories that take part in this transaction: `tx.manager.getRepository(…)`. */
  get manager(): EntityManager {
    return (this.#manager ??= this.#dataSource.managerOf(this.#client));
  }

  query<Row>(sql: string, parameters: readonly unknown[] = [], statementName?: string): Promise<Row[]> {
    return run<Row>(this.#client, sql, parameters, statementName);
  }

  run<Row>({ name, text, values, afterCommit }: Statement): Promise<Row[]> {
    if (afterCommit !== undefined) this.afterCommit(afterCommit);
    return this.query(text, values, name);
  }

  /** Waits for the other transactions that have locked the name. Names are of the whole database: begin them with the schema. */
  lockName(name: string): Promise<void> {
    return this.lockNames([name]);
  }

  /** As `lockName`, in one order: two transactions with several names cannot deadlock. */
  async lockNames(names: readonly string[]): Promise<void> {
    await this.query(
      `SELECT pg_advisory_xact_lock(wanted.lock)
         FROM (SELECT DISTINCT hashtextextended(name, 0) AS lock FROM unnest($1::text[]) AS name ORDER BY lock) AS wanted`,
      [names],
    );
  }

  /** PostgreSQL cancels each further statement of the transaction after this time, in milliseconds. null: after the time of the connection */
  async limitStatements(timeoutMs: number | null): Promise<void> {
    await this.query(`SET LOCAL statement_timeout TO ${timeoutMs ?? 'DEFAULT'}`);
  }

  /** Calls back once the transaction has committed; never where it is rolled back. */
  afterCommit(callback: () => void): void {
    this.#afterCommit.push(callback);
  }

  /** @internal */
  committed(): void {
    for (const callback of this.#afterCommit) callback();
  }
}

/** A service's own database. It connects on demand; while it cannot, calls throw SERVICE_UNAVAILABLE. */
export class Database implements SqlExecutor {
  readonly #dataSource: ServiceDataSource;
  readonly #pool: Pool;
  /** `lookUp` for statements of clients. One without a name, which would be prepared at each run, uses the pool. */
  readonly byKey: Queryable = {
    query: (sql, parameters = [], statementName) =>
      statementName === undefined ? this.query(sql, parameters) : this.lookUp(sql, parameters, statementName),
  };

  /** @param dataSource that of TypeORM where the service has entities; else the database makes one of its own */
  constructor(options: DatabaseOptions, dataSource = new ServiceDataSource(options)) {
    this.#dataSource = dataSource;
    this.#pool = dataSource.pool;
  }

  query<Row>(sql: string, parameters: readonly unknown[] = [], statementName?: string): Promise<Row[]> {
    return run<Row>(this.#pool, sql, parameters, statementName);
  }

  /** Shares connections with other look-ups (`LookupConnections`): it must not wait for locks of rows, and must return few rows. */
  lookUp<Row>(text: string, values: readonly unknown[], name: string): Promise<Row[]> {
    return guarded(text, () => this.#dataSource.lookups.find<Row>(text, values, name));
  }

  async run<Row>({ name, text, values, afterCommit }: Statement): Promise<Row[]> {
    const rows = await this.query<Row>(text, values, name);
    afterCommit?.();
    return rows;
  }

  /** Commits the work, or rolls back where it throws. The work must not call other services. */
  async transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const client = await this.#connect();
    const tx = new Tx(client, this.#dataSource);
    const result = await this.#inTransaction(client, () => work(tx));
    tx.committed();
    return result;
  }

  /** As `transaction`, but a deadlock repeats it: the work only changes the database, and keeps nothing of a rolled-back run. Its callbacks are dropped. */
  repeatable<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return repeatDeadlocked(MAX_RUNS, () => this.transaction(work));
  }

  /** As `transaction`, for reads that may take too long. @throws AppError QUERY_TIMED_OUT where a statement takes more than `timeoutMs` */
  async readInTime<T>(timeoutMs: number, work: (tx: Tx) => Promise<T>): Promise<T> {
    try {
      return await this.transaction(async (tx) => {
        await tx.limitStatements(timeoutMs);
        return work(tx);
      });
    } catch (error) {
      throw isStatementTimeout(error) ? appError('QUERY_TIMED_OUT') : error;
    }
  }

  get pool(): { readonly used: number; readonly idle: number; readonly limit: number; readonly waiting: number } {
    const { totalCount, idleCount, waitingCount, options } = this.#pool;
    return { used: totalCount - idleCount, idle: idleCount, limit: options.max, waiting: waitingCount };
  }

  async close(): Promise<void> {
    await this.#dataSource.destroy();
  }

  async #inTransaction<T>(client: PoolClient, work: () => Promise<T>): Promise<T> {
    let isBroken = false;
    try {
      await execute(client, { text: 'BEGIN' });
      const result = await work();
      const { command } = await execute(client, { text: 'COMMIT' });
      // PostgreSQL responds with ROLLBACK where a statement failed and `work` ignored the error.
      if (command !== 'COMMIT') throw new Error('the transaction was rolled back: one of its statements had failed');
      return result;
    } catch (error) {
      await client.query('ROLLBACK').catch(() => {
        isBroken = true;
      });
      throw error;
    } finally {
      client.release(isBroken);
    }
  }

  async #connect(): Promise<PoolClient> {
    try {
      return await this.#pool.connect();
    } catch (error) {
      throw translateDriverError(error, 'connect');
    }
  }
}

async function repeatDeadlocked<T>(runs: number, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (runs === 1 || !isDeadlock(error)) throw error;
  }
  await sleep(Math.random() * LONGEST_PAUSE_MS);
  return repeatDeadlocked(runs - 1, work);
}

interface Runner {
  query(config: QueryConfig): Promise<QueryResult>;
}

async function run<Row>(runner: Runner, text: string, values: readonly unknown[], name?: string): Promise<Row[]> {
  const runNamed = runner instanceof Pool ? runAlone : runPrepared;
  if (name !== undefined) return guarded(text, () => runNamed<Row>(runner, { name, text, values }));
  const { rows } = await execute(runner, { text, values: [...values] });
  return rows as Row[];
}

function execute(runner: Runner, config: QueryConfig): Promise<QueryResult> {
  return guarded(config.text, () => runner.query(config));
}

async function guarded<T>(sql: string, work: () => Promise<T>): Promise<T> {
  try {
    return await (isTracing() ? inSpan(sqlSpan(sql), work) : work());
  } catch (error) {
    throw translateDriverError(error, sql);
  }
}

export function registerPoolMetrics(database: Pick<Database, 'pool'>, pool: string, metrics: Metrics): void {
  metrics.sample({
    // Other pools set the same gauges with other labels.
    gauges: [],
    read: () => {
      const { used, idle, limit, waiting } = database.pool;
      metrics.databaseConnections.set({ pool, state: 'used' }, used);
      metrics.databaseConnections.set({ pool, state: 'idle' }, idle);
      metrics.databaseLimit.set({ pool }, limit);
      metrics.databaseWaiting.set({ pool }, waiting);
    },
  });
}
