import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Clock } from '#bootstrap';
import { appError } from '#errors';
import { Metrics } from '#observability';
import { openPushDatabase } from '../../test/push-database.js';
import type { DeviceQueues, QueueStatistics } from '../device-queues/device-queues.js';
import type { PushDatabase } from '../push-delivery.database.js';
import { DeliveryStatisticsRepository, DeliveryStatisticsWriter } from './delivery-statistics.js';

const MINUTE_MS = 60_000;

describe('the delivery statistics writer', () => {
  let database: PushDatabase;
  let statistics: Map<string, QueueStatistics>;
  let isAway: boolean;
  let forgotten: string[];
  /** Called when the writer has the queues delete the statistics of a push. It can throw. */
  let forget: (id: string) => void;
  let metrics: Metrics;
  let writer: DeliveryStatisticsWriter;

  const add = async ({ expiresInMs = 60 * MINUTE_MS, dueMs = 0, reachable = 2 } = {}) => {
    const objectId: string = randomUUID();
    const counts = { web: { targeted: reachable, unreachable: 0, enqueued: 0, acknowledged: 0, overflowed: 0 } };
    await database.query(
      `INSERT INTO push.notifications
         (app_id, object_id, status, is_bulk, target, data, message, prod, due_at, expires_at, created_at, updated_at, counts, next_tally_at)
       VALUES ('app', $1, 'done', true, '{}', '{}', '{}', 'prod', now(), $2, now(), now(), $3, now() + make_interval(secs => $4))`,
      [objectId, new Date(Date.now() + expiresInMs), JSON.stringify(counts), dueMs / 1_000],
    );
    return objectId;
  };
  const stored = async (objectId: string) => {
    const [row] = await database.query<{ counts: unknown; nextAt: Date | null }>(
      'SELECT counts, next_tally_at AS "nextAt" FROM push.notifications WHERE object_id = $1',
      [objectId],
    );
    return row!;
  };
  const outcomes = async () => {
    const { values } = await metrics.pushDevices.get();
    const counted = values.filter(({ labels }) => labels.outcome !== 'vendor');
    return Object.fromEntries(counted.map(({ labels, value }) => [String(labels.outcome), value] as const));
  };
  const setStatistics = (objectId: string, acknowledged: number) =>
    statistics.set(objectId, { enqueued: 2, acknowledged, overflowed: 0 });

  beforeAll(async () => {
    database = await openPushDatabase(2);
  });
  afterAll(() => database.close());
  beforeEach(async () => {
    await database.query('TRUNCATE push.notifications CASCADE');
    [statistics, isAway, forgotten] = [new Map<string, QueueStatistics>(), false, []];
    forget = () => undefined;
    const queues: Pick<DeviceQueues, 'statistics' | 'forget'> = {
      statistics: (pushes) => {
        if (isAway) return Promise.reject(appError('SERVICE_UNAVAILABLE'));
        const found = pushes.map(({ id }) => statistics.get(id));
        return Promise.resolve(found.map((one) => new Map(one === undefined ? [] : [['web', one]])));
      },
      forget: async ({ id }) => {
        await Promise.resolve();
        forget(id);
        forgotten.push(id);
      },
    };
    metrics = new Metrics();
    writer = new DeliveryStatisticsWriter(
      new DeliveryStatisticsRepository(database),
      queues as DeviceQueues,
      new Clock(),
      metrics,
    );
  });

  it('copies statistics that are due, and repeats it while they can grow', async () => {
    const due = await add();
    const later = await add({ dueMs: MINUTE_MS });
    for (const id of [due, later]) setStatistics(id, 1);
    await writer.processBatch();
    expect(await stored(due)).toMatchObject({ counts: { web: { targeted: 2, enqueued: 2, acknowledged: 1 } } });
    expect((await stored(due)).nextAt!.getTime()).toBeGreaterThan(Date.now());
    expect(await stored(later)).toMatchObject({ counts: { web: { enqueued: 0 } } });
    expect(forgotten).toEqual([]);
  });

  it.each([
    ['everything is settled', { acknowledged: 2, expiresInMs: 60 * MINUTE_MS }],
    ['the expiry is over', { acknowledged: 1, expiresInMs: -2 * MINUTE_MS }],
  ])('lets the queues forget when %s, and comes no more', async (_, { acknowledged, expiresInMs }) => {
    const objectId = await add({ expiresInMs });
    setStatistics(objectId, acknowledged);
    await writer.processBatch();
    expect(forgotten).toEqual([objectId]);
    expect(await stored(objectId)).toMatchObject({ counts: { web: { acknowledged } }, nextAt: null });
    await writer.processBatch();
    expect(forgotten).toEqual([objectId]);
  });

  it('keeps the stored counts if the last attempt failed after the queues deleted theirs', async () => {
    const objectId = await add();
    setStatistics(objectId, 1);
    await writer.processBatch();
    await database.query(
      `UPDATE push.notifications SET next_tally_at = now() - interval '1 second', expires_at = now() - interval '2 minutes'`,
    );
    statistics.clear();
    await writer.processBatch();
    expect(await stored(objectId)).toMatchObject({ counts: { web: { enqueued: 2, acknowledged: 1 } }, nextAt: null });
  });

  it.each(['before', 'after'])(
    'keeps and counts the last results if it fails %s the queues delete theirs',
    async (when) => {
      const objectId = await add({ reachable: 3, expiresInMs: -2 * MINUTE_MS });
      setStatistics(objectId, 1);
      forget = (id) => {
        if (when === 'after') statistics.delete(id);
        forget = () => undefined;
        throw appError('SERVICE_UNAVAILABLE');
      };
      await expect(writer.processBatch()).rejects.toMatchObject({ errorName: 'SERVICE_UNAVAILABLE' });
      expect((await stored(objectId)).nextAt).not.toBeNull();
      await database.query(`UPDATE push.notifications SET next_tally_at = now() - interval '1 second'`);
      await writer.processBatch();
      expect(await stored(objectId)).toMatchObject({ counts: { web: { enqueued: 2, acknowledged: 1 } }, nextAt: null });
      expect(await outcomes()).toMatchObject({ delivered: 1, expired: 2 });
    },
  );

  it('counts the result of each device once, even in repeated runs', async () => {
    const objectId = await add({ reachable: 5 });
    const comeAgain = async (counted: QueueStatistics, expiresIn = '1 hour') => {
      statistics.set(objectId, counted);
      await database.query(
        `UPDATE push.notifications SET next_tally_at = now() - interval '1 second', expires_at = now() + $1::interval WHERE next_tally_at IS NOT NULL`,
        [expiresIn],
      );
      await writer.processBatch();
      return outcomes();
    };
    expect(await comeAgain({ enqueued: 5, acknowledged: 1, overflowed: 0 })).toMatchObject({
      delivered: 1,
      expired: 0,
    });
    expect(await comeAgain({ enqueued: 5, acknowledged: 1, overflowed: 1 })).toMatchObject({
      delivered: 1,
      overflowed: 1,
    });
    const last = { queued: 0, unreachable: 0, delivered: 2, overflowed: 1, expired: 2 };
    for (let times = 0; times < 2; times += 1)
      expect(await comeAgain({ enqueued: 5, acknowledged: 2, overflowed: 1 }, '-2 minutes')).toEqual(last);
  });

  it('retries soon while the queues are unavailable', async () => {
    const objectId = await add({ expiresInMs: -2 * MINUTE_MS });
    isAway = true;
    await expect(writer.processBatch()).rejects.toMatchObject({ errorName: 'SERVICE_UNAVAILABLE' });
    expect((await stored(objectId)).nextAt).not.toBeNull();
    expect(forgotten).toEqual([]);
  });

  it('processes pushes in batches', async () => {
    for (let index = 0; index < 25; index += 1) await add();
    expect([await writer.processBatch(), await writer.processBatch()]).toEqual([true, false]);
  });
});
