import type { DataSource } from 'typeorm';
import type { Queryable } from './database.js';
import type { DatabaseOptions } from './database-options.js';

/** Any number: all migrators of all schemas of one database take their turns under it. */
const MIGRATION_LOCK = 7_236_401;
const MIGRATIONS_TABLE = 'migrations';
const CONNECT_TIMEOUT_MS = 2_000;
/** One connection holds the lock while the other migrates. */
const CONNECTIONS = 2;

/**
 * Brings a service's schema to the newest version. Safe to run from several places at once: one after the other works.
 * @returns the names of the migrations that were applied
 */
export async function migrate(options: DatabaseOptions): Promise<string[]> {
  const dataSource = await createDataSource(options);
  await dataSource.initialize();
  const lock = dataSource.createQueryRunner();
  try {
    await lock.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    await lock.query(`CREATE SCHEMA IF NOT EXISTS ${options.schema}`);
    const applied = await dataSource.runMigrations();
    return applied.map(({ name }) => name);
  } finally {
    await lock.query('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK]).catch(() => undefined);
    await lock.release();
    await dataSource.destroy();
  }
}

/** Whether every migration of the service is applied. @throws where the schema is not there at all */
export async function isMigrated(database: Queryable, { schema, migrations }: DatabaseOptions): Promise<boolean> {
  const rows = await database.query<{ name: string }>(`SELECT name FROM ${schema}.${MIGRATIONS_TABLE}`);
  const applied = new Set(rows.map(({ name }) => name));
  return migrations.every(({ name }) => applied.has(name));
}

/** TypeORM runs the migrations and notes them; it synchronises nothing. Only who migrates has to load it. */
async function createDataSource({ url, schema, migrations, applicationName }: DatabaseOptions): Promise<DataSource> {
  const { DataSource } = await import('typeorm');
  return new DataSource({
    type: 'postgres',
    url,
    schema,
    applicationName,
    poolSize: CONNECTIONS,
    connectTimeoutMS: CONNECT_TIMEOUT_MS,
    synchronize: false,
    migrations: [...migrations],
    migrationsTableName: MIGRATIONS_TABLE,
    migrationsTransactionMode: 'each',
    uuidExtension: 'pgcrypto',
    installExtensions: false,
    logging: false,
  });
}
