import { createDataSource, type DatabaseOptions } from './data-source.js';

/** Any number: all migrators of all schemas of one database take their turns under it. */
const MIGRATION_LOCK = 7_236_401;

/**
 * Brings a service's schema to the newest version. Safe to run from several places at once: one after the other works.
 * @returns the names of the migrations that were applied
 */
export async function migrate(options: DatabaseOptions): Promise<string[]> {
  const dataSource = createDataSource({ ...options, poolSize: 2 }, 'migration');
  await dataSource.initialize();
  const lock = dataSource.createQueryRunner();
  try {
    await lock.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    await lock.query(`CREATE SCHEMA IF NOT EXISTS ${quoteIdentifier(options.schema)}`);
    const applied = await dataSource.runMigrations();
    return applied.map(({ name }) => name);
  } finally {
    await lock.query('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK]).catch(() => undefined);
    await lock.release();
    await dataSource.destroy();
  }
}

function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
