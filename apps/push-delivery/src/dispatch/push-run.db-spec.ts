import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { Clock } from '#bootstrap';
import type { Tx } from '#database';
import { appError } from '#errors';
import type { DirectMessages } from '#messaging';
import { Metrics } from '#observability';
import { eventually, unique } from '#testing';
import { NotedQueues, startDispatcher } from '../../test/noted-queues.js';
import { openPushDatabase } from '../../test/push-database.js';
import type { ConnectorNodes } from '../device-queues/connector-nodes.js';
import type { DeviceQueues } from '../device-queues/device-queues.js';
import { InstallationScanRepository } from '../installations/installations.repository.js';
import type { PushDatabase } from '../push-delivery.database.js';
import type { VendorDispatch } from './installation-scan.js';
import { PushDelivery } from './push-delivery.js';
import type { PushDispatcher } from './push-dispatcher.js';
import { PushJobsRepository } from './push-jobs.repository.js';
import { PushRun } from './push-run.js';

const TEAM = 'TEAM123456';
/** The first page has 200 devices, so there are two. */
const DEVICES = 250;

let database: PushDatabase;
beforeAll(async () => {
  database = await openPushDatabase(4);
});
afterAll(() => database.close());

/** A large push that counts up the badges of Apple devices. */
async function addLargePush(appId: string): Promise<void> {
  await database.query(
    `INSERT INTO push.vendor_credentials (app_id, vendor, profile, part, shown, sealed_secrets)
     VALUES ($1, 'apns', '_default', $2, '{}', '')`,
    [appId, TEAM],
  );
  await database.query(
    `INSERT INTO push.installations (app_id, object_id, partition, device_type, device_token, fields, created_at, updated_at)
     SELECT $1, to_char(number, 'FM0000'), number % 3, 'ios', number, '{}', now(), now()
       FROM generate_series(1, $2::int) AS number`,
    [appId, DEVICES],
  );
  await database.query(
    `INSERT INTO push.notifications (app_id, object_id, status, is_bulk, target, data, message, prod, due_at, expires_at, created_at, updated_at, counts)
     VALUES ($1, 'push', 'in-queue', true, '{"where":[]}', '{}', '{"body":"{\\"badge\\":\\"Increment\\"}","bodies":{}}', 'prod',
             now(), now() + interval '1 hour', now(), now(), '{}')`,
    [appId],
  );
}

function runToolsFor(jobs: PushJobsRepository) {
  const vendors: VendorDispatch = {
    channelsOf: () => Promise.resolve([{ vendor: 'apns', profile: '_default', part: TEAM, topics: ['com.example'] }]),
    batchesAdded: () => undefined,
  };
  const nodes = { send: () => Promise.resolve() } as unknown as DirectMessages;
  return {
    vendors,
    jobs,
    installations: new InstallationScanRepository(database),
    delivery: new PushDelivery(new NotedQueues() as unknown as DeviceQueues, nodes, {} as ConnectorNodes),
    clock: new Clock(),
    metrics: new Metrics(),
    logger: new Logger('Pushes'),
    onPartition: () => undefined,
  };
}

/** The next transaction is committed, and its caller does not hear of it. */
function loseCommit(): void {
  const transaction = database.transaction.bind(database);
  vi.spyOn(database, 'transaction').mockImplementationOnce(async (work: (tx: Tx) => Promise<unknown>) => {
    await transaction(work);
    throw appError('SERVICE_UNAVAILABLE');
  });
}

it('gives each device to a vendor once where the answer to a commit is lost', async () => {
  const appId = unique('app');
  await addLargePush(appId);
  const jobs = new PushJobsRepository(database);
  const [job] = await jobs.claim(1, randomUUID(), false);
  loseCommit();
  expect(await new PushRun(job!, runToolsFor(jobs), new AbortController().signal, () => false).run()).toBe('done');
  const [found] = await database.query(
    `SELECT count(*)::int AS devices, count(DISTINCT device)::int AS different
       FROM push.vendor_batches, unnest(targets) AS device WHERE app_id = $1`,
    [appId],
  );
  expect(found).toEqual({ devices: DEVICES, different: DEVICES });
  const [counts] = await database.query(
    `SELECT targeted, (SELECT counts->'ios'->>'vendored' FROM push.notifications WHERE app_id = $1) AS vendored
       FROM push.vendor_counts WHERE app_id = $1`,
    [appId],
  );
  expect(counts).toEqual({ targeted: DEVICES, vendored: String(DEVICES) });
  const badges = await database.query(
    `SELECT DISTINCT (fields->>'badge')::int AS badge FROM push.installations WHERE app_id = $1`,
    [appId],
  );
  expect(badges).toEqual([{ badge: 1 }]);
});

it('ends as lost where another process has claimed the push', async () => {
  const appId = unique('app');
  await addLargePush(appId);
  const jobs = new PushJobsRepository(database);
  const [job] = await jobs.claim(1, randomUUID(), false);
  await database.query(`UPDATE push.notifications SET lease_owner = 'other' WHERE app_id = $1`, [appId]);
  expect(await new PushRun(job!, runToolsFor(jobs), new AbortController().signal, () => false).run()).toBe('lost');
});

describe('pushes with flow control', () => {
  const dispatchers: PushDispatcher[] = [];
  beforeEach(() => database.query('DELETE FROM push.notifications'));
  afterEach(() => Promise.all(dispatchers.splice(0).map((dispatcher) => dispatcher.beforeApplicationShutdown())));

  const start = () => dispatchers.push(startDispatcher(database, new NotedQueues(), [], new Metrics()));
  const addDevices = (appId: string, count: number) =>
    database.query(
      `INSERT INTO push.installations (app_id, object_id, partition, installation_id, device_type, fields, created_at, updated_at)
       SELECT $1, number, 1, number, 'web', '{}', now(), now() FROM generate_series(1, $2::int) AS number`,
      [appId, count],
    );
  const add = async (appId: string, count: number) => {
    await database.query(
      `INSERT INTO push.notifications
         (app_id, object_id, status, is_bulk, flow_control, target, data, message, prod, due_at, expires_at, created_at, updated_at)
       SELECT $1, $1 || number, 'in-queue', true, 1000, '{"where":[]}', '{}', '{"body":"{}","bodies":{}}', 'prod',
              now(), now() + interval '1 hour', now(), now() FROM generate_series(1, $2::int) AS number`,
      [appId, count],
    );
  };
  const done = async (appId: string) =>
    await database.query<{ sentMs: number; targeted: number }>(
      `SELECT extract(epoch FROM updated_at - due_at)::float8 * 1000 AS "sentMs", (counts->'web'->>'targeted')::int AS targeted
           FROM push.notifications WHERE app_id = $1 AND status = 'done'`,
      [appId],
    );

  it('of one application leave slots to those of others, at the same rate', async () => {
    const [busy, quiet] = [unique('busy'), unique('quiet')];
    await addDevices(busy, 4_000);
    await addDevices(quiet, 1);
    await add(busy, 16);
    start();
    await sleep(1_500);
    await add(quiet, 2);
    await eventually(async () => {
      expect(await done(quiet)).toHaveLength(2);
    });
    expect(await done(busy)).toEqual([]);
    await eventually(async () => {
      expect(await done(busy)).toHaveLength(16);
    }, 20_000);
    for (const { targeted, sentMs } of await done(busy)) {
      expect(targeted).toBe(4_000);
      expect(sentMs).toBeGreaterThan(3_500);
    }
  });

  it('of many applications take turns', async () => {
    const apps = Array.from({ length: 18 }, (_, index) => unique(`app${index}`));
    for (const appId of apps) await addDevices(appId, 4_000);
    for (const appId of apps.slice(0, 17)) await add(appId, 1);
    start();
    await sleep(500);
    const [last = ''] = apps.slice(-1);
    await database.query(`DELETE FROM push.installations WHERE app_id = $1 AND object_id <> '1'`, [last]);
    await add(last, 1);
    await eventually(async () => {
      expect(await done(last)).toHaveLength(1);
    });
    for (const appId of apps.slice(0, 17)) expect(await done(appId)).toEqual([]);
  });
});
