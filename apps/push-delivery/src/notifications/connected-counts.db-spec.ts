import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { appError } from '#errors';
import { QueryDatabase } from '#objects/store';
import { Metrics } from '#observability';
import { queryPlan } from '#testing';
import { migratedOptions } from '../../test/push-database.js';
import { useQueueStores } from '../../test/queue-stores.js';
import { QueueUser } from '../../test/queue-user.js';
import type { DeviceQueues } from '../device-queues/device-queues.js';
import { PushDatabase } from '../push-delivery.database.js';
import { ConnectedCounts, PushCleanup } from './notifications.repository.js';

const DAY = '2026-01-02';
const { stores } = useQueueStores();

let database: PushDatabase;
let queries: QueryDatabase;
let now: Date;

const at = (time: string) => {
  now = new Date(`${DAY}T${time}Z`);
};
const countsOf = (queues: DeviceQueues) =>
  new ConnectedCounts(database, queries, queues, { now: () => now }, new Metrics());
const connected = (counts: Readonly<Record<string, number>>) =>
  countsOf({ countAllConnected: () => Promise.resolve(new Map(Object.entries(counts))) } as unknown as DeviceQueues);
const unavailable = countsOf.bind(undefined, {
  countAllConnected: () => Promise.reject(appError('SERVICE_UNAVAILABLE')),
} as unknown as DeviceQueues);
const hoursOf = async (appId: string, from = DAY) =>
  (await connected({}).byHour(appId, from)).map((hour) => [hour.at.slice(11, 16), hour.connected]);
const rows = () =>
  database.query<{ appId: string; connected: number }>(`
  SELECT app_id AS "appId", to_char(at AT TIME ZONE 'UTC', 'HH24:MI') AS at, connected FROM push.connected_counts ORDER BY app_id, at`);

beforeAll(async () => {
  const options = await migratedOptions(8);
  database = new PushDatabase(options);
  queries = new QueryDatabase(options);
});
afterAll(() => Promise.all([database.close(), queries.close()]));
beforeEach(() => database.query('TRUNCATE push.connected_counts'));

describe('the counts of connected devices', () => {
  it.each(stores)('are those of each application in $name', async ({ open }) => {
    const queues = open();
    const [shop, other] = [new QueueUser(queues), new QueueUser(queues)];
    const sessions = [shop, shop, other].map((user) => ({ device: user.newDevice(), session: user.newSession() }));
    for (const { device, session } of sessions) await queues.connect(device, session, 1);
    at('09:01:00');
    await countsOf(queues).processBatch();
    await queues.disconnect(sessions);
    at('10:01:00');
    await countsOf(queues).processBatch();
    expect(await hoursOf(shop.appId)).toEqual([
      ['09:00', 2],
      ['10:00', 0],
    ]);
    expect(await hoursOf(other.appId)).toEqual([
      ['09:00', 1],
      ['10:00', 0],
    ]);
  });

  it('keep the most of a quarter of an hour in one row, also of processes that store at once', async () => {
    at('09:15:00');
    for (const count of [3, 7, 5]) await connected({ shop: count }).processBatch();
    await Promise.all([4, 8, 6].map((count) => connected({ other: count, shop: 1 }).processBatch()));
    at('09:29:59.999');
    await connected({ other: 2, idle: 0 }).processBatch();
    at('09:30:00');
    await connected({ other: 1 }).processBatch();
    expect(await rows()).toEqual([
      { appId: '', at: '09:15', connected: 9 },
      { appId: '', at: '09:30', connected: 1 },
      { appId: 'other', at: '09:15', connected: 8 },
      { appId: 'other', at: '09:30', connected: 1 },
      { appId: 'shop', at: '09:15', connected: 7 },
    ]);
    expect(await hoursOf('other')).toEqual([['09:00', 8]]);
  });

  it('are zero in an hour in which no device was connected, and missing in one without a count', async () => {
    for (const time of ['07:00:00', '08:00:00', '10:59:00']) {
      at(time);
      await connected(time.startsWith('08') ? { shop: 2 } : {}).processBatch();
    }
    at('09:00:00');
    await expect(unavailable().processBatch()).rejects.toThrow(
      expect.objectContaining({ errorName: 'SERVICE_UNAVAILABLE' }),
    );
    expect(await hoursOf('shop')).toEqual([
      ['07:00', 0],
      ['08:00', 2],
      ['10:00', 0],
    ]);
    expect(await hoursOf('shop', '2026-01-03')).toEqual([]);
  });

  it('are deleted after 30 days, in batches', async () => {
    await database.query(
      `INSERT INTO push.connected_counts (app_id, at, connected)
       SELECT 'shop', now() - age * interval '1 hour' + interval '1 minute', 1 FROM generate_series(1, 1500) AS age`,
    );
    const cleanup = new PushCleanup(database, new Metrics());
    expect([await cleanup.processBatch(), await cleanup.processBatch()]).toEqual([true, false]);
    expect(await rows()).toHaveLength(720);
  });

  it('read the key of the application', async () => {
    await database.query(
      `INSERT INTO push.connected_counts (app_id, at, connected)
       SELECT CASE WHEN app = 0 THEN '' ELSE 'app' || app END, timestamptz '2026-02-01Z' - place * interval '15 minutes', app
         FROM generate_series(0, 20) AS app, generate_series(1, 2880) AS place`,
    );
    await database.query('VACUUM ANALYZE push.connected_counts');
    const plan = await queryPlan(database, (within) => connected({}).byHour('app7', DAY, within));
    expect(plan.indexes).toEqual(['connected_counts_pkey']);
    expect(plan.nodeTypes).not.toContain('Seq Scan');
  });
});
