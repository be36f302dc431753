import { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Column, Entity, PrimaryColumn } from 'typeorm';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { isAppError } from '#errors';
import { newDatabase } from '#testing';
import { ServiceDataSource } from './data-source.js';
import { Database } from './database.js';
import { violatedUniqueConstraint } from './driver-error.js';

/** node-postgres closes an idle connection after ten seconds. */
const AFTER_IDLE_MS = 10_500;

@Entity('shelves')
class ShelfEntity {
  @PrimaryColumn('text')
  id!: string;

  @Column('text', { name: 'label_text' })
  label!: string;
}

const OPTIONS = { schema: 'public', migrations: [], entities: [ShelfEntity], poolSize: 2, applicationName: 'test' };

/** As operators close a database while they restore or rename it. */
async function closedDatabase(): Promise<string> {
  const url = await newDatabase();
  const name = new URL(url).pathname.slice(1);
  const admin = new Database({ ...OPTIONS, url: Object.assign(new URL(url), { pathname: '/postgres' }).href });
  await admin.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
  await admin.close();
  return url;
}

describe('ServiceDataSource', () => {
  let databaseUrl: string;
  let database: Database;
  let dataSource: ServiceDataSource;
  beforeAll(async () => {
    databaseUrl = await newDatabase();
    const options = { ...OPTIONS, url: databaseUrl };
    dataSource = await new ServiceDataSource(options).initialize();
    database = new Database(options, dataSource);
    await database.query(
      'CREATE TABLE shelves (id text CONSTRAINT shelves_pkey PRIMARY KEY, label_text text NOT NULL)',
    );
  });
  afterAll(() => database.close());

  const shelves = () => dataSource.getRepository(ShelfEntity);

  it('reads and writes entities over the pool of the database', async () => {
    await shelves().insert({ id: 'a', label: 'first' });

    expect(await shelves().findOneBy({ id: 'a' })).toEqual({ id: 'a', label: 'first' });
    expect(await database.query('SELECT label_text AS label FROM shelves')).toEqual([{ label: 'first' }]);
    expect(database.pool).toMatchObject({ used: 0, limit: 2 });
  });

  it('keeps an idle connection, with its advisory lock, where this is wanted', async () => {
    const keeping = new Database({ ...OPTIONS, url: databaseUrl, keepsIdle: true });
    onTestFinished(() => keeping.close());
    await keeping.query('SELECT pg_advisory_lock(7)');
    await sleep(AFTER_IDLE_MS);
    const locks = await database.query(
      `SELECT 1 FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database
        WHERE locktype = 'advisory' AND objid = 7 AND datname = current_database()`,
    );
    expect([locks.length, keeping.pool.idle]).toEqual([1, 1]);
  });

  it('names the constraint that an insert violates', async () => {
    await shelves().insert({ id: 'twice', label: '' });
    const error: unknown = await shelves()
      .insert({ id: 'twice', label: '' })
      .catch((reason: unknown) => reason);

    expect(violatedUniqueConstraint(error)).toBe('shelves_pkey');
  });

  it('lets repositories take part in a transaction with statements', async () => {
    const rolledBack = database.transaction(async (tx) => {
      await tx.manager.getRepository(ShelfEntity).insert({ id: 'b', label: 'not kept' });
      await tx.query(`INSERT INTO shelves VALUES ('c', 'not kept')`);
      throw new Error('rolled back');
    });
    await expect(rolledBack).rejects.toThrow('rolled back');
    await database.transaction(async (tx) => {
      await tx.query(`INSERT INTO shelves VALUES ('d', 'kept')`);
      await tx.manager.getRepository(ShelfEntity).update({ id: 'd' }, { label: 'changed' });
    });

    expect(await shelves().findBy([{ id: 'b' }, { id: 'c' }, { id: 'd' }])).toEqual([{ id: 'd', label: 'changed' }]);
    expect(database.pool.used).toBe(0);
  });

  it('probes idle connections after ten seconds, so that a NAT keeps them', async () => {
    const probes = vi.spyOn(Socket.prototype, 'setKeepAlive');
    onTestFinished(() => {
      probes.mockRestore();
    });
    const options = { ...OPTIONS, url: await newDatabase() };
    const other = new Database(options, await new ServiceDataSource(options).initialize());
    await other.query('SELECT 1');
    await other.lookUp('SELECT 1', [], 'one');
    await other.close();

    expect(probes.mock.calls).toEqual([
      [true, 10_000],
      [true, 10_000],
    ]);
  });

  it("takes options of the URL beside its own, which a pooler's address may need", async () => {
    const url = `${databaseUrl}?application_name=given&options=-c%20search_path%3Dshelf&keepalives=1`;
    const other = new Database({ ...OPTIONS, url, plans: 'once' });
    onTestFinished(() => other.close());
    const settings = ['jit', 'plan_cache_mode', 'search_path', 'application_name'];
    const rows = await other.query<{ setting: string }>(
      `SELECT setting FROM pg_settings WHERE name = ANY($1) ORDER BY array_position($1, name)`,
      [settings],
    );
    expect(rows.map(({ setting }) => setting)).toEqual(['off', 'force_generic_plan', 'shelf', 'given']);
  });

  it.each([
    ['is unavailable', () => 'postgres://127.0.0.1:1/none'],
    ['has no such database', async () => Object.assign(new URL(await newDatabase()), { pathname: '/missing' }).href],
    ['lets nothing into the database', closedDatabase],
  ])('starts while its server %s, and says so for each statement', async (_, urlOf) => {
    const away = await new ServiceDataSource({ ...OPTIONS, url: await urlOf() }).initialize();
    const found: unknown = await away
      .getRepository(ShelfEntity)
      .find()
      .catch((reason: unknown) => reason);
    await away.destroy();
    await away.destroy();

    expect(isAppError(found, 'SERVICE_UNAVAILABLE')).toBe(true);
  });
});
