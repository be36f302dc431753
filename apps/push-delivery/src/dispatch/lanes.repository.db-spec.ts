import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { migrate } from '#database';
import { newDatabase, unique } from '#testing';
import { PushDatabase, pushDatabase } from '../push-delivery.database.js';
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
  appId = unique('app');
  await database.query(
    `INSERT INTO push.installations (app_id, object_id, partition, device_type, device_token, fields, created_at, updated_at)
     SELECT $1, id, 0, 'ios', id, '{"badge":1}', now(), now() FROM unnest($2::text[]) AS id`,
    [appId, DEVICES],
  );
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
