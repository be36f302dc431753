import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { migrate } from '#database';
import { appError } from '#errors';
import { Metrics } from '#observability';
import { eventually, newDatabase, unique } from '#testing';
import { NotedQueues, startDispatcher } from '../../test/noted-queues.js';
import { PushDatabase, pushDatabase } from '../push-delivery.database.js';
import { type LaneLease, LanesRepository } from './lanes.repository.js';
import type { WakeUp } from './push-delivery.js';
import { PushJobsRepository } from './push-jobs.repository.js';

const DEVICES = ['a', 'b'];
const COUNTS = {};

let database: PushDatabase;
let lanes: LanesRepository;
let appId: string;

const share = {
  objectId: 'push',
  isBulk: false,
  countsBadges: true,
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
            (SELECT array_agg((fields->>'badge')::int) FROM push.installations WHERE app_id = $1) AS badges,
            (SELECT status FROM push.notifications WHERE app_id = $1 AND object_id = 'push') AS status`,
    [appId],
  );
  return row;
};

beforeAll(async () => {
  const options = pushDatabase(await newDatabase(), 6);
  await migrate(options);
  database = new PushDatabase({ ...options, statementTimeoutMs: 2_000 });
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
    finished = lanes.finish(lane, both, [share, { ...share, objectId: 'removed', countsBadges: false }]);
    await sleep(200);
  });
  expect(await finished).toBe('released');
  expect(await recorded()).toEqual({ batches: 1, badges: [2, 2], status: 'done' });
});
