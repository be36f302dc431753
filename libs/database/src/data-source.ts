import type { ClientConfig, Pool, PoolClient } from 'pg';
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
import { createPool, LONGEST_LIFE_MS, LookupConnections, withoutOptions } from './connections.js';
import { translateDriverError } from './driver-error.js';

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
    return `${this.getTableName(table).replace(/^.*\./, '')}_pkey`;
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
    this.lookups = new LookupConnections(connection, LOOKUP_CONNECTIONS);
    const life = keepsIdle ? { idleTimeoutMillis: 0 } : { maxLifetimeSeconds: LONGEST_LIFE_MS / 1_000 };
    this.pool = createPool({ ...connection, ...life, max: poolSize }, this.lookups);
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

function connectionOf({ url, applicationName, plans, ...timeouts }: DatabaseOptions): ClientConfig {
  const { connectTimeoutMs = CONNECT_TIMEOUT_MS, statementTimeoutMs = STATEMENT_TIMEOUT_MS } = timeouts;
  const { connectionString, given } = withoutOptions(url);
  return {
    connectionString,
    options: `${NO_JIT} ${plans === undefined ? '' : PLANS[plans]} ${given}`,
    application_name: applicationName,
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs + UNREACHABLE_AFTER_MS,
    idle_in_transaction_session_timeout: IDLE_TRANSACTION_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
  };
}
