import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually, newDatabase } from '#testing';
import type { DatabaseOptions } from './data-source.js';
import { ForwardMigration, migrate, migrationStatus } from './migrate.js';

const LONG_TIMEOUTS = { otherMigrationMs: 20_000, tableMs: 200, tablesMs: 20_000 };
const SHORT_TIMEOUTS = { otherMigrationMs: 200, tableMs: 100, tablesMs: 500 };
/** Timeout of tests that wait for a migration's retries. */
const TEST_MS = 40_000;

class CreateThings1700000000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE TABLE sample.things (name text)');
  }

  down(): Promise<void> {
    throw new Error('forward only');
  }
}

class AddSize1700000100000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE sample.things ADD COLUMN size integer');
  }

  down(): Promise<void> {
    throw new Error('forward only');
  }
}

/** Waits while another session holds advisory lock 1. */
class WaitLong1700000100000 extends ForwardMigration {
  override readonly statements = ['SET LOCAL lock_timeout = 0', 'SELECT pg_advisory_xact_lock(1)'];
}

/** Waits between its two steps while another session holds advisory lock 1. */
class AddInTwoSteps1700000200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE sample.things ADD COLUMN first integer');
    await runner.query('SET LOCAL lock_timeout = 0');
    await runner.query('SELECT pg_advisory_xact_lock(1)');
    await runner.query('ALTER TABLE sample.things ADD COLUMN second integer');
  }

  down(): Promise<void> {
    throw new Error('forward only');
  }
}

describe('migrate', { timeout: TEST_MS }, () => {
  let options: DatabaseOptions;
  let other: pg.Client;

  const all = () => ({ ...options, migrations: [CreateThings1700000000000, AddSize1700000100000] });
  const columns = async () => {
    const { rows } = await other.query<{ name: string }>(
      `SELECT column_name AS name FROM information_schema.columns WHERE table_schema = 'sample' AND table_name = 'things'`,
    );
    return rows.map(({ name }) => name).sort();
  };

  beforeEach(async () => {
    const url = await newDatabase();
    options = {
      url,
      schema: 'sample',
      migrations: [CreateThings1700000000000],
      poolSize: 1,
      applicationName: 'gatepost-sample',
    };
    other = new pg.Client({ connectionString: url, application_name: 'other-migrator' });
    await other.connect();
  });
  afterEach(() => other.end());

  it('migrates once where several migrators run at the same time', async () => {
    const applied = await Promise.all(Array.from({ length: 4 }, () => migrate(options)));
    expect(applied.flat()).toEqual(['CreateThings1700000000000']);
    expect(await migrate(options)).toEqual([]);
  });

  it('reports pending migrations in the order in which they run', async () => {
    const migrations = [AddSize1700000100000, CreateThings1700000000000];
    const { pending } = await migrationStatus({ ...options, migrations });
    expect(pending).toEqual(['CreateThings1700000000000', 'AddSize1700000100000']);
  });

  it('reports pending migrations without changes', async () => {
    expect(await migrationStatus(options)).toEqual({ pending: ['CreateThings1700000000000'], newer: [] });
    expect((await other.query(`SELECT to_regnamespace('sample') AS schema`)).rows).toEqual([{ schema: null }]);
    await migrate(all());
    expect(await migrationStatus(all())).toEqual({ pending: [], newer: [] });
    expect(await migrationStatus(options)).toEqual({ pending: [], newer: ['AddSize1700000100000'] });
  });

  it('leaves nothing of an interrupted migration, which the next run applies', async () => {
    const steps = { ...options, migrations: [CreateThings1700000000000, AddInTwoSteps1700000200000] };
    await other.query('SELECT pg_advisory_lock(1)');
    const killed = migrate(steps, LONG_TIMEOUTS).catch((error: unknown) => error);
    await eventually(async () => {
      const { rowCount } = await other.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE application_name = 'gatepost-sample' AND datname = current_database() AND wait_event = 'advisory'`,
      );
      expect(rowCount).toBe(1);
    });
    expect(await killed).toBeInstanceOf(Error);
    expect(await columns()).toEqual(['name']);
    await other.query('SELECT pg_advisory_unlock(1)');
    expect(await migrate(steps, LONG_TIMEOUTS)).toEqual(['AddInTwoSteps1700000200000']);
    expect(await columns()).toEqual(['first', 'name', 'second']);
  });

  it.each(['statement_timeout', 'idle_session_timeout'])(
    'takes its time, also with %s of the database',
    async (name) => {
      const database = new URL(options.url).pathname.slice(1);
      await other.query(`ALTER DATABASE ${database} SET ${name} = '200ms'`);
      await other.query('SELECT pg_advisory_lock(1)');
      const migrating = migrate({ ...options, migrations: [WaitLong1700000100000] });
      await eventually(async () => {
        expect((await other.query(`SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`)).rowCount).toBe(
          1,
        );
      });
      await sleep(300);
      await expect(migrate(options, SHORT_TIMEOUTS)).rejects.toThrow(/another migration runs/);
      await other.query('SELECT pg_advisory_unlock(1)');
      expect(await migrating).toEqual(['WaitLong1700000100000']);
    },
  );

  it('times out while another migration runs, and names its session', async () => {
    await other.query('SELECT pg_advisory_lock(7236401)');
    await expect(migrate(options, SHORT_TIMEOUTS)).rejects.toThrow(
      /another migration runs: PostgreSQL's process \d+ \(other-migrator, from .*pg_terminate_backend\(\d+\)/,
    );
  });

  it("does not block other sessions while it waits for a table's lock", async () => {
    await migrate(options);
    await other.query('BEGIN');
    await other.query('SELECT * FROM sample.things');
    const migrating = migrate(all(), LONG_TIMEOUTS);
    const third = new pg.Client({ connectionString: options.url });
    await third.connect();
    for (let query = 0; query < 20; query += 1) await third.query('SELECT * FROM sample.things');
    await third.end();
    expect(await columns()).toEqual(['name']);
    await other.query('COMMIT');
    expect(await migrating).toEqual(['AddSize1700000100000']);
  });

  it.each(['', '?options=-c%20search_path%3Dpublic%20-c%20lock_timeout%3D0'])(
    'times out where a table is permanently in use %s',
    async (query) => {
      await migrate(options);
      await other.query('BEGIN');
      await other.query('SELECT * FROM sample.things');
      await expect(migrate({ ...all(), url: `${options.url}${query}` }, SHORT_TIMEOUTS)).rejects.toThrow(
        /in use all the time/,
      );
      await other.query('COMMIT');
      expect(await migrate(all())).toEqual(['AddSize1700000100000']);
    },
  );
});
