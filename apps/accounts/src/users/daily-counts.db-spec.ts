import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Database } from '#database';
import { QueryDatabase } from '#objects/store';
import { Metrics } from '#observability';
import { queryPlan } from '#testing';
import { newAccountsDatabase, storeApplication } from '../../test/stored.js';
import { DailyCounts, LoginCountsCleanup } from './daily-counts.js';

const USERS = 50_000;
const FROM = '2026-01-01';

let database: Database;
let queries: QueryDatabase;
let now: Date;

const newCounts = () => new DailyCounts(database, queries, { now: () => now }, new Metrics());

beforeAll(async () => {
  const created = await newAccountsDatabase(8, { statementTimeoutMs: 60_000 });
  database = created.database;
  queries = new QueryDatabase(created.options);
  for (const app of ['shop', 'other']) await storeApplication(database, app);
  // 10 users a day in "shop", the last of each day at 23:59:59.999.
  await database.query(
    `INSERT INTO accounts.users (app_id, object_id, username, session_token_hash, sealed_session_token, created_at, updated_at)
     SELECT CASE WHEN n % 100 < 1 THEN 'shop' ELSE 'other' END, n::text, n::text, int8send(n), '',
            timestamptz '2026-02-01Z' - (n / 1000) * interval '1 day' - CASE WHEN n % 1000 = 0 THEN interval '1 ms' ELSE interval '2 hours' END, now()
       FROM generate_series(1::bigint, $1) AS n`,
    [USERS],
  );
  await database.query('VACUUM ANALYZE accounts.users');
}, 60_000);
afterAll(() => Promise.all([database.close(), queries.close()]));
beforeEach(async () => {
  now = new Date('2026-01-31T23:59:59.999Z');
  await database.query('TRUNCATE accounts.daily_logins');
});

describe('the counts by day', () => {
  it('are those of the application and of UTC days, from the first day on', async () => {
    const days = await newCounts().since('shop', FROM);
    expect(days.map(({ day }) => day).slice(0, 2)).toEqual(['2026-01-01', '2026-01-02']);
    expect(days).toHaveLength(31);
    expect(new Set(days.map(({ signUps, logins }) => `${signUps} ${logins}`).slice(0, -1))).toEqual(new Set(['10 0']));
  });

  it('read the index of sign-ups, and no row of a user', async () => {
    const plan = await queryPlan(database, (within) => newCounts().since('shop', FROM, within));
    expect(plan.indexes).toContain('users_created_at_idx');
    expect(plan.nodeTypes).toContain('Index Only Scan');
    expect(plan.nodeTypes).not.toContain('Seq Scan');
  });

  it('add up the logins of several processes, also of two that store at once', async () => {
    const processes = [newCounts(), newCounts(), newCounts()];
    for (const counts of processes) {
      for (let login = 0; login < 100; login += 1) counts.countLogin(login % 2 === 0 ? 'shop' : 'other');
    }
    now = new Date('2026-02-01T00:00:00.000Z');
    processes[0]?.countLogin('shop');
    await Promise.all(processes.map((counts) => counts.processBatch()));
    await processes[0]?.processBatch();
    const logins = (await newCounts().since('shop', '2026-01-31')).map(({ day, logins: count }) => [day, count]);
    expect(logins).toEqual([
      ['2026-01-31', 150],
      ['2026-02-01', 1],
    ]);
  });

  it('lose the numbers of logins after 400 days, in batches', async () => {
    await database.query(
      `INSERT INTO accounts.daily_logins (app_id, day, logins)
       SELECT 'shop', (now() AT TIME ZONE 'UTC')::date - age, 1 FROM generate_series(0, 1000) AS age`,
    );
    const cleanup = new LoginCountsCleanup(database, new Metrics());
    expect([await cleanup.processBatch(), await cleanup.processBatch()]).toEqual([true, false]);
    const [left] = await database.query<{ days: number; oldest: number }>(
      `SELECT count(*)::int AS days, (now() AT TIME ZONE 'UTC')::date - min(day) AS oldest FROM accounts.daily_logins`,
    );
    expect(left).toEqual({ days: 401, oldest: 400 });
  });

  it('keep logins that could not be stored, and store them at the end of the process', async () => {
    const counts = newCounts();
    counts.countLogin('shop');
    const failing = vi.spyOn(database, 'query').mockRejectedValueOnce(new Error('no connection'));
    await expect(counts.processBatch()).rejects.toThrow('no connection');
    failing.mockRestore();
    counts.countLogin('shop');
    await counts.beforeApplicationShutdown();
    expect(await newCounts().since('shop', '2026-01-31')).toMatchObject([{ logins: 2 }]);
  });
});
