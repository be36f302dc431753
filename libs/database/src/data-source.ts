import { Logger } from '@nestjs/common';
import { Client, type ClientConfig, Pool, type PoolClient, type PoolConfig } from 'pg';
import {
  DataSource,
  DefaultNamingStrategy,
  type EntityManager,
  type MigrationInterface,
  QueryFailedError,
  type QueryRunner,
  type ReplicationMode,
  type Table,
} from 'typeorm';
import { snakeCase } from 'typeorm/util/StringUtils.js';
import { withTimeout } from '#errors';
import { translateDriverError } from './driver-error.js';
import { MismatchedReply, numbered, runPrepared } from './statement.js';

/** Values of PostgreSQL's type integer. */
const MAX_NUMBER = 2 ** 31;
/** An unreachable PostgreSQL does not confirm the end of a connection. */
const CLOSE_TIMEOUT_MS = 2_000;

interface Lane {
  readonly client: Client;
  readonly connected: Promise<unknown>;
  inFlight: number;
  isGathering: boolean;
}

/** Connections with many look-ups in flight at once (ADR 41), only for reads of a row by its key, which wait for no lock of a row. */
export class LookupConnections {
  readonly #logger = new Logger('PostgreSQL');
  readonly #lanes: (Lane | undefined)[];
  readonly #texts = new Map<string, string>();
  #number = 0;
  #hasEnded = false;

  /** @param count connections at most. They are made on demand, and kept. */
  constructor(
    private readonly config: ClientConfig,
    count: number,
  ) {
    this.#lanes = Array.from({ length: count }, () => undefined);
  }

  async find<Row>(text: string, values: readonly unknown[], name: string): Promise<Row[]> {
    const lane = this.#leastBusy();
    lane.inFlight += 1;
    try {
      await lane.connected;
      this.#gather(lane);
      const number = this.#nextNumber();
      return await runPrepared<Row>(lane.client, { name, text: this.#numbered(text, values, name), values, number });
    } catch (error) {
      if (error instanceof MismatchedReply) this.#close(lane, error);
      throw error;
    } finally {
      lane.inFlight -= 1;
    }
  }

  async end(): Promise<void> {
    this.#hasEnded = true;
    const clients = this.#lanes.flatMap((lane) => lane?.client ?? []);
    await withTimeout(Promise.allSettled(clients.map((client) => client.end())), CLOSE_TIMEOUT_MS, () => {
      for (const client of clients) client.connection.stream.destroy();
    });
  }

  #nextNumber(): number {
    this.#number = (this.#number + 1) % MAX_NUMBER;
    return this.#number;
  }

  #numbered(text: string, values: readonly unknown[], name: string): string {
    const known = this.#texts.get(name);
    if (known !== undefined) return known;
    const created = numbered({ text, values });
    this.#texts.set(name, created);
    return created;
  }

  #close(lane: Lane, error: MismatchedReply): void {
    this.#forget(lane);
    this.#logger.error(error.message);
    lane.client.connection.stream.destroy(error);
  }

  /** Look-ups of one turn of the event loop leave in one system call. */
  #gather(lane: Lane): void {
    if (lane.isGathering) return;
    lane.isGathering = true;
    const { stream } = lane.client.connection;
    stream.cork();
    setImmediate(() => {
      lane.isGathering = false;
      stream.uncork();
    });
  }

  #leastBusy(): Lane {
    if (this.#hasEnded) throw new Error('Cannot use a pool after calling end on the pool');
    let best = 0;
    for (let index = 1; index < this.#lanes.length; index += 1) if (this.#load(index) < this.#load(best)) best = index;
    return (this.#lanes[best] ??= this.#open());
  }

  #load(index: number): number {
    return this.#lanes[index]?.inFlight ?? 0.5;
  }

  #forget(lane: Lane): void {
    const index = this.#lanes.indexOf(lane);
    if (index !== -1) this.#lanes[index] = undefined;
  }

  #open(): Lane {
    const client = new Client({ ...this.config, pipeline: true });
    const lane: Lane = { client, connected: client.connect(), inFlight: 0, isGathering: false };
    const forget = (): void => {
      this.#forget(lane);
    };
    // The loss of the connection also fails its look-ups. The error event needs a listener, because it would otherwise end the process.
    client.on('error', (error) => {
      if (lane.inFlight === 0 && !this.#hasEnded) this.#logger.warn(`an idle connection was lost: ${error.message}`);
      forget();
    });
    client.on('end', forget);
    lane.connected.catch(forget);
    return lane;
  }
}

/** Shorter than the five seconds of an RPC, whose caller then gets this 503. */
const CONNECT_TIMEOUT_MS = 4_000;
const STATEMENT_TIMEOUT_MS = 5_000;
/** A server that has not even reported the statement timeout after this time is unreachable. */
const UNREACHABLE_AFTER_MS = 1_000;
const IDLE_TRANSACTION_TIMEOUT_MS = 15_000;
/** Idle connections are probed after this time. The system's default of two hours is longer than a NAT keeps a connection. */
const KEEP_ALIVE_MS = 10_000;
/** One serves more look-ups than a processor core can ask for; the other one stands in while a page comes from the disk. */
const LOOKUP_CONNECTIONS = 2;
/** JIT compilation takes longer than running any statement of the services. */
const NO_JIT = '-c jit=off';
const PLANS = {
  'each-run': '-c plan_cache_mode=force_custom_plan',
  // A generic plan is made without the values: where a few are frequent, PostgreSQL expects a sort to be cheaper than the index
  // that delivers the order, and then reads all rows of the application.
  once: '-c plan_cache_mode=force_generic_plan -c enable_sort=off',
} as const;

export interface DatabaseOptions {
  readonly url: string;
  readonly schema: string;
  readonly migrations: readonly (new () => MigrationInterface)[];
  readonly entities?: readonly (new () => object)[];
  /** Connections at most. Look-ups have up to two more. */
  readonly poolSize: number;
  readonly applicationName: string;
  readonly connectTimeoutMs?: number;
  /** Default: 5 seconds. */
  readonly statementTimeoutMs?: number;
  /** Idle connections stay open: for one that holds an advisory lock. */
  readonly keepsIdle?: boolean;
  /** `each-run`: for the values of each run. `once`: one generic plan always fits. Default: PostgreSQL decides. */
  readonly plans?: 'each-run' | 'once';
}

/** The column of `createdAt` is `created_at`, and the primary key of the table `users` is `users_pkey`, as PostgreSQL names it. */
export class SnakeNames extends DefaultNamingStrategy {
  override columnName(property: string, ownName: string): string {
    return ownName || snakeCase(property);
  }

  override primaryKeyName(table: Table | string): string {
    const [name = ''] = this.getTableName(table).split('.').slice(-1);
    return `${name}_pkey`;
  }
}

/** TypeORM's access, and the pool that the statements of `Database` share (ADR 8). It connects on demand: a start needs no PostgreSQL. */
export class ServiceDataSource extends DataSource {
  readonly pool: Pool;
  readonly lookups: LookupConnections;

  constructor(options: DatabaseOptions) {
    const { url, schema, applicationName, poolSize, entities = [], keepsIdle = false } = options;
    super({
      type: 'postgres',
      url,
      schema,
      applicationName,
      poolSize,
      entities: [...entities],
      namingStrategy: new SnakeNames(),
      synchronize: false,
      installExtensions: false,
      uuidExtension: 'pgcrypto',
      logging: false,
    });
    const connection = connectionOf(options);
    this.pool = createPool({ ...connection, max: poolSize, ...(keepsIdle ? { idleTimeoutMillis: 0 } : {}) });
    this.lookups = new LookupConnections(connection, LOOKUP_CONNECTIONS);
    Object.assign(this.driver, { master: this.pool });
  }

  override async initialize(): Promise<this> {
    await this.buildMetadatas();
    Object.assign(this, { isInitialized: true });
    return this;
  }

  override async destroy(): Promise<void> {
    Object.assign(this, { isInitialized: false });
    if (!this.pool.ending) await Promise.all([this.pool.end(), this.lookups.end()]);
  }

  /** @returns a runner whose failures are those of `Database`: SERVICE_UNAVAILABLE, or a StatementError with the constraint's name */
  override createQueryRunner(mode?: ReplicationMode): QueryRunner {
    const runner = super.createQueryRunner(mode);
    const query = runner.query.bind(runner) as (...call: [string, unknown[]?, boolean?]) => Promise<unknown>;
    const translated = async (...call: [string, unknown[]?, boolean?]): Promise<unknown> => {
      try {
        return await query(...call);
      } catch (error) {
        throw translateDriverError(error instanceof QueryFailedError ? error.driverError : error, call[0]);
      }
    };
    return Object.assign(runner, { query: translated });
  }

  /** The repositories' part in a transaction that is open on `client`. */
  managerOf(client: PoolClient): EntityManager {
    const runner = this.createQueryRunner('master');
    Object.assign(runner, { databaseConnection: client, isTransactionActive: true, transactionDepth: 1 });
    return this.createEntityManager(runner);
  }
}

function connectionOf({
  url,
  applicationName,
  connectTimeoutMs = CONNECT_TIMEOUT_MS,
  statementTimeoutMs = STATEMENT_TIMEOUT_MS,
  plans,
}: DatabaseOptions): ClientConfig {
  return {
    connectionString: url,
    application_name: applicationName,
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs + UNREACHABLE_AFTER_MS,
    idle_in_transaction_session_timeout: IDLE_TRANSACTION_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    options: plans === undefined ? NO_JIT : `${NO_JIT} ${PLANS[plans]}`,
  };
}

function createPool(config: PoolConfig): Pool {
  const pool = new Pool(config);
  const logger = new Logger('PostgreSQL');
  // The loss of a connection in use also fails its query. The error event needs a listener, because it would otherwise end the process.
  pool.on('connect', (client) => {
    client.on('error', () => undefined);
  });
  pool.on('error', (error) => {
    if (!pool.ending) logger.warn(`an idle connection was lost: ${error.message}`);
  });
  return pool;
}
