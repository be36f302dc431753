import { randomUUID } from 'node:crypto';
import { Logger } from '@nestjs/common';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { Clock } from '#bootstrap';
import { migrate, type Tx } from '#database';
import { appError } from '#errors';
import type { DirectMessages } from '#messaging';
import { Metrics } from '#observability';
import { newDatabase, unique } from '#testing';
import { NotedQueues } from '../../test/noted-queues.js';
import type { ConnectorNodes } from '../device-queues/connector-nodes.js';
import type { DeviceQueues } from '../device-queues/device-queues.js';
import { PushDatabase, pushDatabase } from '../push-delivery.database.js';
import { InstallationScanRepository } from '../installations/installations.repository.js';
import { PushDelivery } from './push-delivery.js';
import { PushJobsRepository } from './push-jobs.repository.js';
import { PushRun, type VendorDispatch } from './push-run.js';

const TEAM = 'TEAM123456';
/** The first page has 200 devices, so there are two. */
const DEVICES = 250;

let database: PushDatabase;
beforeAll(async () => {
  const options = pushDatabase(await newDatabase(), 4);
  await migrate(options);
  database = new PushDatabase(options);
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
