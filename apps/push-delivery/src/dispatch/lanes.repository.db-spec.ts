import { setTimeout as sleep } from 'node:timers/promises';
import type { Repository } from 'typeorm';
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { appError } from '#errors';
import { Metrics } from '#observability';
import { eventually, unique } from '#testing';
import { NotedQueues, startDispatcher } from '../../test/noted-queues.js';
import { openPushDatabase } from '../../test/push-database.js';
import type { WakeUp } from '../device-queues/connector-nodes.js';
import { NotificationsRepository } from '../notifications/notifications.repository.js';
import type { PushDatabase } from '../push-delivery.database.js';
import type { NotificationEntity } from '../pushes/push.entity.js';
import type { NotificationStatus } from '../pushes/push.row.js';
import { type LaneLease, LanesRepository } from './lanes.repository.js';
import { PushJobsRepository } from './push-jobs.repository.js';

const DEVICES = ['a', 'b'];
const COUNTS = {};

let database: PushDatabase;
let lanes: LanesRepository;
let appId: string;

const share = {
  objectId: 'push',
  isBulk: false,
  badges: new Set(DEVICES),
  lanes: new Map([['apns/_default/TEAM/prod', DEVICES]]),
  missing: new Map(),
};
const ends = [{ objectId: 'push', status: 'done', counts: COUNTS }] as const;
const addPush = (objectId: string, isBulk = false) =>
  database.query(
    `INSERT INTO push.notifications (app_id, object_id, status, is_bulk, target, data, message, prod, due_at, expires_at, created_at, updated_at)
     VALUES ($1, $2, 'in-queue', $3, '{"where":[]}', '{}', '{"body":"{}","bodies":{}}', 'prod', now(), now() + interval '1 hour', now(), now())`,
    [appId, objectId, isBulk],
  );
const addDevices = (app: string) =>
  database.query(
    `INSERT INTO push.installations (app_id, object_id, partition, installation_id, device_type, device_token, fields, created_at, updated_at)
     SELECT $1, id, 0, id, 'ios', id, '{"badge":1}', now(), now() FROM unnest($2::text[]) AS id`,
    [app, DEVICES],
  );
const claimLane = async (): Promise<LaneLease> => {
  const { claimed } = await lanes.claim(100, unique('lease'));
  return claimed.find((lane) => lane.appId === appId)!;
};
/** The work runs while another transaction holds the row of an installation. */
const whileRegistering = async (work: () => Promise<unknown>) => {
  await database.transaction(async (tx) => {
    await tx.query(`SELECT 1 FROM push.installations WHERE app_id = $1 AND object_id = 'a' FOR UPDATE`, [appId]);
    await work();
  });
};
const recorded = async () => {
  const [row] = await database.query(
    `SELECT (SELECT count(*)::int FROM push.vendor_batches WHERE app_id = $1) AS batches,
            (SELECT array_agg((fields->>'badge')::int ORDER BY object_id) FROM push.installations WHERE app_id = $1) AS badges,
            (SELECT status FROM push.notifications WHERE app_id = $1 AND object_id = 'push') AS status`,
    [appId],
  );
  return row;
};

beforeAll(async () => {
  database = await openPushDatabase(6, { statementTimeoutMs: 2_000 });
  lanes = new LanesRepository(database);
});
afterAll(() => database.close());
beforeEach(async () => {
  await database.query('TRUNCATE push.installations, push.notifications, push.lanes CASCADE');
  appId = unique('app');
  await addDevices(appId);
});

it('keeps the lease of a lane free for its renewal while badges are counted up', async () => {
  await addPush('push');
  const lane = await claimLane();
  let finished: Promise<unknown> = Promise.resolve();
  await whileRegistering(async () => {
    finished = lanes.finish(lane, ends, [share]);
    await sleep(200);
    const from = performance.now();
    expect(await lanes.renew([lane])).toEqual(new Set([lane]));
    expect(performance.now() - from).toBeLessThan(1_000);
  });
  expect(await finished).toBe('released');
  expect(await recorded()).toEqual({ batches: 1, badges: [2, 2], status: 'done' });
});

it('routes the devices of a push that vendors alone carry, without any credentials', async () => {
  await addPush('push');
  const lane = await claimLane();
  const hasVendors = async () => (await lanes.findPushes(lane, 1)).map((push) => push.hasVendors);
  expect(await hasVendors()).toEqual([false]);
  await database.query(
    `UPDATE push.notifications SET message = message || '{"isForVendorsOnly":true}' WHERE app_id = $1`,
    [appId],
  );
  expect(await hasVendors()).toEqual([true]);
});

it('counts badges up on the devices of a batch whose push says so, alone', async () => {
  await addPush('push');
  expect(await lanes.finish(await claimLane(), ends, [{ ...share, badges: new Set(['b']) }])).toBe('released');
  expect(await recorded()).toEqual({ batches: 1, badges: [1, 2], status: 'done' });
  expect(await database.query('SELECT targets, badges FROM push.vendor_batches WHERE app_id = $1', [appId])).toEqual([
    { targets: DEVICES, badges: [1, 2] },
  ]);
});

it('keeps the lease of a large push free for its renewal while badges are counted up', async () => {
  await addPush('push', true);
  const jobs = new PushJobsRepository(database);
  const job = (await jobs.claim(100, unique('lease'), false)).find((one) => one.appId === appId)!;
  const progress = { position: { partition: 0, objectId: 'b' }, counts: COUNTS, isDone: true };
  let advanced: Promise<boolean> = Promise.resolve(false);
  await whileRegistering(async () => {
    advanced = jobs.advance(job, progress, share);
    await sleep(200);
    const from = performance.now();
    expect(await jobs.renew([job])).toEqual(new Set(['push']));
    expect(performance.now() - from).toBeLessThan(1_000);
  });
  expect(await advanced).toBe(true);
  expect(await recorded()).toEqual({ batches: 1, badges: [2, 2], status: 'done' });
});

it('records nothing for a holder that has lost the lane, not even badges', async () => {
  await addPush('push');
  const lane = await claimLane();
  expect(await lanes.finish({ ...lane, lease: 'former' }, ends, [share])).toBe('lost');
  expect(await recorded()).toEqual({ batches: 0, badges: [1, 1], status: 'in-queue' });
});

describe('scheduled pushes that are due', () => {
  /** @param order the place among the pushes that are due */
  const schedule = (count: number, app: string, order: number) =>
    database.query(
      `INSERT INTO push.notifications (app_id, object_id, status, is_bulk, target, data, message, prod, due_at, expires_at, created_at, updated_at)
       SELECT $1, lpad(n::text, 5, '0'), 'scheduled', false, '{"where":[]}', '{}', '{"body":"{}","bodies":{}}', 'prod',
              now() - interval '1 minute' + make_interval(secs => $3 + n / 1e6), now() + interval '1 hour', now(), now()
         FROM generate_series(1, $2::int) AS n`,
      [app, count, order],
    );
  const accept = async (objectId: string, dueAt: Date, status: NotificationStatus) => {
    const notifications = new NotificationsRepository(database, undefined as unknown as Repository<NotificationEntity>);
    const row = { requestId: null, appId, objectId, notificationId: null, target: { where: [] }, data: {} };
    const times = { dueAt, expiresAt: new Date(dueAt.getTime() + 3_600_000), createdAt: new Date() };
    const push = { ...row, ...times, message: { body: '{}', bodies: {} }, prod: 'prod', flowControl: null } as const;
    await database.transaction((tx) => notifications.add(tx, push, status));
  };
  /** The ids of pushes with the status, in their order. */
  const withStatus = async (status: NotificationStatus) => {
    const sql = 'SELECT object_id AS id FROM push.notifications WHERE app_id = $1 AND status = $2 ORDER BY seq';
    return (await database.query<{ id: string }>(sql, [appId, status])).map(({ id }) => id);
  };

  it('begin in their order, and those of one application do not wait for all of another', async () => {
    const own = appId;
    appId = unique('busy');
    await schedule(2_500, appId, 0);
    await schedule(2, own, 30);
    expect(await lanes.beginDue()).toEqual({ hasBegun: true, isMoreDue: true });
    const begun = await withStatus('in-queue');
    expect(begun).toHaveLength(1_998);
    expect(begun).toEqual([...begun].sort());
    expect((await withStatus('scheduled'))[0]! > begun.at(-1)!).toBe(true);
    appId = own;
    expect(await withStatus('in-queue')).toEqual(['00001', '00002']);
    expect(await lanes.beginDue()).toEqual({ hasBegun: true, isMoreDue: false });
    expect(await lanes.beginDue()).toEqual({ hasBegun: false, isMoreDue: false });
  });

  it('begin when a later push is accepted, if they are few', async () => {
    await schedule(3, appId, 0);
    await accept('future', new Date(Date.now() + 3_600_000), 'scheduled');
    expect(await withStatus('in-queue')).toEqual([]);
    await accept('later', new Date(), 'in-queue');
    expect(await withStatus('in-queue')).toEqual(['00001', '00002', '00003', 'later']);
    expect(await withStatus('scheduled')).toEqual(['future']);
  });

  it('begin before a later push, however many they are', async () => {
    await schedule(101, appId, 0);
    await accept('later', new Date(), 'in-queue');
    await accept('last', new Date(), 'in-queue');
    expect(await withStatus('in-queue')).toEqual([]);
    await lanes.beginDue();
    expect((await withStatus('in-queue')).slice(99)).toEqual(['00100', '00101', 'later', 'last']);
  });

  it('begin without a pause while more are due', async () => {
    await schedule(1, appId, 0);
    let rounds = 0;
    vi.spyOn(LanesRepository.prototype, 'beginDue').mockImplementation(() => {
      rounds += 1;
      return Promise.resolve({ hasBegun: true, isMoreDue: rounds < 20 });
    });
    const from = performance.now();
    const dispatcher = startDispatcher(database, new NotedQueues(), [], new Metrics());
    await eventually(() => {
      expect(rounds).toBeGreaterThanOrEqual(20);
    });
    expect(performance.now() - from).toBeLessThan(5_000);
    await dispatcher.beforeApplicationShutdown();
    vi.restoreAllMocks();
  });
});

it('lets lanes that wait for a dependency give way to another one', async () => {
  const [own, waiting] = [appId, Array.from({ length: 40 }, () => unique('waiting'))];
  const [queues, wakeUps, attempts] = [new NotedQueues(), [] as WakeUp[], new Set<string>()];
  let isAway = true;
  queues.before = ({ message }) => {
    if (!isAway || message.appId === own) return Promise.resolve();
    attempts.add(message.appId);
    return Promise.reject(appError('SERVICE_UNAVAILABLE'));
  };
  for (appId of waiting) {
    await addDevices(appId);
    await addPush('push');
  }
  const dispatcher = startDispatcher(database, queues, wakeUps, new Metrics());
  await eventually(() => {
    expect(attempts.size).toBeGreaterThanOrEqual(16);
  });
  appId = own;
  await addPush('push');
  await eventually(async () => {
    expect(await recorded()).toMatchObject({ status: 'done' });
  });
  isAway = false;
  await eventually(async () => {
    expect(await database.query(`SELECT 1 FROM push.notifications WHERE status <> 'done'`)).toEqual([]);
  }, 20_000);
  await dispatcher.beforeApplicationShutdown();
  const repeated = wakeUps.filter(({ isRepeated }) => isRepeated).map(({ message }) => message.appId);
  expect(new Set(repeated)).toEqual(attempts);
});

it('claims other lanes and large pushes before older ones that were released, and these too', async () => {
  const [own, waiting] = [appId, Array.from({ length: 3 }, () => unique('waiting'))];
  for (appId of [...waiting, own]) {
    await addPush('push');
    await addPush('large', true);
  }
  await database.query(`INSERT INTO push.lanes SELECT id, 'former', now() FROM unnest($1::text[]) AS id`, [waiting]);
  await database.query(`UPDATE push.notifications SET lease_owner = 'former' WHERE is_bulk AND app_id = ANY ($1)`, [
    waiting,
  ]);
  const jobs = new PushJobsRepository(database);
  const firsts = new Set<string>();
  for (let claim = 0; claim < 60; claim += 1) {
    const { claimed } = await lanes.claim(1, unique('lease'));
    const [lane] = claimed;
    const [job] = await jobs.claim(1, unique('lease'), false);
    firsts.add(`lane ${lane!.appId === own ? 'own' : 'waiting'}`).add(`job ${job!.appId === own ? 'own' : 'waiting'}`);
    await (lane!.appId === own ? lanes.yield(lane!) : lanes.release(lane!, 0));
    await (job!.appId === own ? jobs.yield(job!) : jobs.release(job!, 0, 0));
  }
  expect([...firsts].sort()).toEqual(['job own', 'job waiting', 'lane own', 'lane waiting']);
});

it('ends the other pushes of a group where one is removed meanwhile', async () => {
  await addPush('push');
  await addPush('removed');
  const lane = await claimLane();
  let finished: Promise<unknown> = Promise.resolve();
  await database.transaction(async (tx) => {
    await tx.query(`DELETE FROM push.notifications WHERE app_id = $1 AND object_id = 'removed'`, [appId]);
    const both = [...ends, { objectId: 'removed', status: 'done', counts: COUNTS }] as const;
    finished = lanes.finish(lane, both, [share, { ...share, objectId: 'removed', badges: new Set<string>() }]);
    await sleep(200);
  });
  expect(await finished).toBe('released');
  expect(await recorded()).toEqual({ batches: 1, badges: [2, 2], status: 'done' });
});
