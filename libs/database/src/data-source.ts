import { DataSource, type MigrationInterface } from 'typeorm';

/** A service's database: where it is, its schema, and the migrations that make it. */
export interface DatabaseOptions {
  readonly url: string;
  readonly schema: string;
  readonly migrations: readonly (new () => MigrationInterface)[];
  readonly poolSize: number;
  readonly applicationName: string;
}

const CONNECT_TIMEOUT_MS = 2_000;
const STATEMENT_TIMEOUT_MS = 5_000;
const IDLE_TRANSACTION_TIMEOUT_MS = 15_000;

/** A TypeORM data source that synchronises nothing: the schema comes from the migrations alone. */
export function createDataSource(options: DatabaseOptions, limits: 'server' | 'migration' = 'server'): DataSource {
  const timeouts =
    limits === 'server'
      ? { statement_timeout: STATEMENT_TIMEOUT_MS, idle_in_transaction_session_timeout: IDLE_TRANSACTION_TIMEOUT_MS }
      : {};
  return new DataSource({
    type: 'postgres',
    url: options.url,
    schema: options.schema,
    applicationName: options.applicationName,
    poolSize: options.poolSize,
    connectTimeoutMS: CONNECT_TIMEOUT_MS,
    extra: { ...timeouts, keepAlive: true },
    synchronize: false,
    migrations: [...options.migrations],
    migrationsTableName: 'migrations',
    migrationsTransactionMode: 'each',
    uuidExtension: 'pgcrypto',
    installExtensions: false,
    logging: false,
  });
}
