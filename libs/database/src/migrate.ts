import { setTimeout as sleep } from 'node:timers/promises';
import { DataSource, type MigrationInterface, type QueryRunner } from 'typeorm';
import { withoutOptions } from './connections.js';
import type { DatabaseOptions } from './data-source.js';
import { Database, type Queryable } from './database.js';

/** Statements without a way back: a failed upgrade is repaired by a later migration. */
export abstract class ForwardMigration implements MigrationInterface {
  readonly statements: readonly string[] = [];

  async up(runner: QueryRunner): Promise<void> {
    for (const statement of this.statements) await runner.query(statement);
  }

  down(): Promise<void> {
    throw new Error('migrations go forward only');
  }
}

/** For a migration without a transaction. They can be repeated. @param indexes by name, what follows ON */
export function indexesBesideTraffic(schema: string, indexes: Readonly<Record<string, string>>): string[] {
  const builds = Object.entries(indexes).flatMap(([name, definition]) => [
    `DROP INDEX CONCURRENTLY IF EXISTS ${schema}.${name}`,
    `CREATE INDEX CONCURRENTLY ${name} ON ${schema}.${definition}`,
  ]);
  return ['SET lock_timeout = 0', ...builds, 'RESET lock_timeout'];
}

/** An arbitrary key: all migrators of all schemas of one database share it. */
const MIGRATION_LOCK = 7_236_401;
const POLL_MS = 200;

interface LockHolder {
  query(sql: string, parameters?: unknown[]): Promise<unknown>;
}

interface Migrator {
  readonly pid: number;
  readonly application: string;
  readonly address: string;
  readonly seconds: number;
}

/** The session is idle while another one migrates. PostgreSQL 13 does not have the setting. */
const STAY = `SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'idle_session_timeout'`;

async function takeMigrationLock(holder: LockHolder, waitMs: number): Promise<void> {
  await holder.query(STAY);
  const deadline = performance.now() + waitMs;
  while (!(await tryToLock(holder))) {
    if (performance.now() > deadline) throw new Error(await describeMigrator(holder));
    await sleep(POLL_MS);
  }
}

async function releaseMigrationLock(holder: LockHolder): Promise<void> {
  await holder.query('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK]).catch(() => undefined);
}

async function tryToLock(holder: LockHolder): Promise<boolean> {
  const rows = (await holder.query('SELECT pg_try_advisory_lock($1) AS locked', [MIGRATION_LOCK])) as {
    readonly locked: boolean;
  }[];
  return rows[0]?.locked === true;
}

async function describeMigrator(holder: LockHolder): Promise<string> {
  const rows = (await holder.query(
    `SELECT a.pid, a.application_name AS application, coalesce(host(a.client_addr), 'the same machine') AS address,
            extract(epoch FROM now() - a.backend_start)::int AS seconds
       FROM pg_locks l JOIN pg_stat_activity a USING (pid)
      WHERE l.locktype = 'advisory' AND l.granted AND l.classid = 0 AND l.objid = $1 AND l.objsubid = 1
        AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    [MIGRATION_LOCK],
  )) as Migrator[];
  const [migrator] = rows;
  if (migrator === undefined) return 'another migration has just ended: try again';
  const { pid, application, address, seconds } = migrator;
  return `another migration runs: PostgreSQL's process ${pid} (${application}, from ${address}, for ${seconds} s). If that session is abandoned, end it with "SELECT pg_terminate_backend(${pid})"`;
}

const MIGRATIONS_TABLE = 'migrations';
const CONNECT_TIMEOUT_MS = 2_000;
/** One connection holds the lock while the other migrates. */
const CONNECTIONS = 2;
const LOCK_NOT_AVAILABLE = '55P03';
/** Delay between attempts to lock a table, in which the statements queued behind the attempt run. */
const RETRY_MS = 1_000;

interface MigrationTimeouts {
  readonly otherMigrationMs: number;
  /** Wait of one attempt for the lock of a table; other statements on the table queue behind it meanwhile. */
  readonly tableMs: number;
  readonly tablesMs: number;
}

const TIMEOUTS: MigrationTimeouts = { otherMigrationMs: 300_000, tableMs: 2_000, tablesMs: 120_000 };

interface MigrationStatus {
  /** Known to this version and not applied. */
  readonly pending: readonly string[];
  /** Applied and unknown to this version: a newer version has migrated. */
  readonly newer: readonly string[];
}

/** Concurrent calls take turns. Where a table is in use, a migration gives up its lock request and retries: other statements do not queue long. */
export async function migrate(options: DatabaseOptions, timeouts = TIMEOUTS): Promise<string[]> {
  const dataSource = createDataSource(options, timeouts);
  await dataSource.initialize();
  const lock = dataSource.createQueryRunner();
  try {
    await takeMigrationLock(lock, timeouts.otherMigrationMs);
    await lock.query(`CREATE SCHEMA IF NOT EXISTS ${options.schema}`);
    return await applyPending(dataSource, options.schema, timeouts.tablesMs);
  } finally {
    await releaseMigrationLock(lock);
    await lock.release();
    await dataSource.destroy();
  }
}

export async function migrationStatus(options: DatabaseOptions): Promise<MigrationStatus> {
  const database = new Database(options);
  try {
    const applied = (await appliedMigrations(database, options.schema)) ?? new Set();
    const known = options.migrations.map(({ name }) => name).toSorted((one, other) => timeOf(one) - timeOf(other));
    return {
      pending: known.filter((name) => !applied.has(name)),
      newer: [...applied].filter((name) => !known.includes(name)),
    };
  } finally {
    await database.close();
  }
}

/** Milliseconds at the end of the name, by which TypeORM orders migrations. */
function timeOf(migration: string): number {
  return Number(migration.slice(-13));
}

export async function isMigrated(database: Queryable, options: DatabaseOptions): Promise<boolean> {
  const applied = await appliedMigrations(database, options.schema);
  return applied !== undefined && options.migrations.every(({ name }) => applied.has(name));
}

/** Undefined where the schema has never been migrated. */
async function appliedMigrations(database: Queryable, schema: string): Promise<Set<string> | undefined> {
  const table = `${schema}.${MIGRATIONS_TABLE}`;
  const [found] = await database.query<{ isThere: boolean }>(`SELECT to_regclass($1) IS NOT NULL AS "isThere"`, [
    table,
  ]);
  if (found?.isThere !== true) return undefined;
  const rows = await database.query<{ name: string }>(`SELECT name FROM ${table} ORDER BY id`);
  return new Set(rows.map(({ name }) => name));
}

async function applyPending(dataSource: DataSource, schema: string, patienceMs: number): Promise<string[]> {
  const deadline = performance.now() + patienceMs;
  const database: Queryable = { query: (sql, parameters) => dataSource.query(sql, [...(parameters ?? [])]) };
  const before = await appliedMigrations(database, schema);
  // Migrations that an earlier attempt has applied stay applied.
  while (!(await tryToApply(dataSource))) {
    if (performance.now() > deadline)
      throw new Error(
        'a table that the migration changes is in use all the time: look for long transactions in pg_stat_activity',
      );
    await sleep(RETRY_MS);
  }
  return [...((await appliedMigrations(database, schema)) ?? [])].filter((name) => before?.has(name) !== true);
}

async function tryToApply(dataSource: DataSource): Promise<boolean> {
  try {
    await dataSource.runMigrations();
    return true;
  } catch (error) {
    if ((error as { code?: unknown }).code === LOCK_NOT_AVAILABLE) return false;
    throw error;
  }
}

/** TypeORM runs and records the migrations; `synchronize` is off. */
function createDataSource(
  { url, schema, migrations, applicationName }: DatabaseOptions,
  { tableMs }: MigrationTimeouts,
): DataSource {
  const { connectionString, given } = withoutOptions(url);
  return new DataSource({
    type: 'postgres',
    url: connectionString,
    schema,
    applicationName,
    poolSize: CONNECTIONS,
    connectTimeoutMS: CONNECT_TIMEOUT_MS,
    extra: { options: `${given} -c lock_timeout=${tableMs} -c statement_timeout=0` },
    synchronize: false,
    migrations: [...migrations],
    migrationsTableName: MIGRATIONS_TABLE,
    migrationsTransactionMode: 'each',
    uuidExtension: 'pgcrypto',
    installExtensions: false,
    logging: false,
  });
}
