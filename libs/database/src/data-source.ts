import { Logger } from '@nestjs/common';
import { type ClientConfig, Pool, type PoolClient } from 'pg';
import {
  DataSource,
  type EntityManager,
  type MigrationInterface,
  QueryFailedError,
  type QueryRunner,
  type ReplicationMode,
} from 'typeorm';
import { translateDriverError } from './driver-error.js';
import { LookupConnections } from './lookup-connections.js';

/** Shorter than the five seconds of an RPC, whose caller then gets this 503. */
const CONNECT_TIMEOUT_MS = 4_000;
const STATEMENT_TIMEOUT_MS = 5_000;
/** A server that has not even reported the statement timeout after this time is unreachable. */
const UNREACHABLE_AFTER_MS = 1_000;
const IDLE_TRANSACTION_TIMEOUT_MS = 15_000;
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

/** A service's database: its URL, its schema, the migrations and the entities of the schema. */
export interface DatabaseOptions {
  readonly url: string;
  readonly schema: string;
  readonly migrations: readonly (new () => MigrationInterface)[];
  /** None where only hand-written statements run. */
  readonly entities?: readonly (new () => object)[];
  /** Connections at most. Look-ups have up to two more. */
  readonly poolSize: number;
  readonly applicationName: string;
  /** The longest wait for a connection, a new or a free one, in milliseconds. Default: 4 seconds. */
  readonly connectTimeoutMs?: number;
  /** Timeout of statements, in milliseconds. Default: 5 seconds. */
  readonly statementTimeoutMs?: number;
  /**
   * How prepared statements are planned: `each-run` for the values of each run, where no generic plan fits; `once` where one generic plan
   * always fits. Default: PostgreSQL decides.
   */
  readonly plans?: 'each-run' | 'once';
}

/**
 * TypeORM's access to a service's database: the metadata of its entities, their repositories, and the pool that the hand-written
 * statements of `Database` share (ADR 8). It connects on demand, so a service starts while PostgreSQL is unavailable.
 */
export class ServiceDataSource extends DataSource {
  /** node-postgres' pool, which TypeORM calls `driver.master`. */
  readonly pool: Pool;
  /** For reads of a row by its key, outside of transactions. */
  readonly lookups: LookupConnections;

  constructor(options: DatabaseOptions) {
    const { url, schema, applicationName, poolSize, entities = [] } = options;
    super({
      type: 'postgres',
      url,
      schema,
      applicationName,
      poolSize,
      entities: [...entities],
      synchronize: false,
      installExtensions: false,
      uuidExtension: 'pgcrypto',
      logging: false,
    });
    const connection = connectionOf(options);
    this.pool = createPool(connection, poolSize);
    this.lookups = new LookupConnections(connection, LOOKUP_CONNECTIONS);
    Object.assign(this.driver, { master: this.pool });
  }

  /** Reads the metadata of the entities. It makes no connection. */
  override async initialize(): Promise<this> {
    await this.buildMetadatas();
    Object.assign(this, { isInitialized: true });
    return this;
  }

  /** Closes all connections, once. */
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
    options: plans === undefined ? NO_JIT : `${NO_JIT} ${PLANS[plans]}`,
  };
}

function createPool(connection: ClientConfig, poolSize: number): Pool {
  const pool = new Pool({ ...connection, max: poolSize });
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
