import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { Clock } from '#bootstrap';
import { appError } from '#errors';
import { Metrics, type ProcessInfo } from '#observability';
import type { OutboundClient } from '#outbound';
import { unique } from '#testing';
import { openPushDatabase } from '../../test/push-database.js';
import type { PushDatabase } from '../push-delivery.database.js';
import { AndroidChannel } from './android/android.channel.js';
import { xiaomiProtocol } from './android/authorized.protocols.js';
import { VendorBatchesRepository } from './vendor-batches.repository.js';
import type { VendorChannels } from './vendor-channels.js';
import { VendorHousekeeping } from './vendor-housekeeping.job.js';
import { VendorLanesRepository } from './vendor-lanes.repository.js';
import { VendorSettlementRepository } from './vendor-settlement.repository.js';

const TOKENS = ['a', 'b', 'c'];

let database: PushDatabase;
let lanes: VendorLanesRepository;
let appId: string;
beforeAll(async () => {
  database = await openPushDatabase(4);
});
afterAll(() => database.close());

/** An application that sends with `prod` dev and prod, and whose list was read two hours ago, after its devices were saved. */
beforeEach(async () => {
  appId = unique('app');
  lanes = new VendorLanesRepository(database);
  await database.query('TRUNCATE push.vendor_lanes');
  await database.query(
    `INSERT INTO push.vendor_lanes (app_id, lane, credentials_at, used_at, list_asked_at, list_read_at)
     VALUES ($1, 'xiaomi/_default//dev', now(), now(), NULL, NULL),
            ($1, 'xiaomi/_default//prod', now(), now(), now() - interval '2 hours', now() - interval '2 hours')`,
    [appId],
  );
  await database.query(
    `INSERT INTO push.installations (app_id, object_id, partition, device_type, fields, created_at, updated_at)
     SELECT $1, token, 0, 'android', jsonb_build_object('vendor', 'mi', 'registrationId', token), now(), now() - interval '3 hours'
       FROM unnest($2::text[]) AS token`,
    [appId, TOKENS],
  );
});

/** A list of one token on each page, which names it once, and a job that reads the list. */
function newJob() {
  const listed = [...TOKENS];
  const send = () => {
    const body = listed.length === 0 ? { code: 10_035 } : { code: 0, data: { list: listed.splice(0, 1) } };
    return Promise.resolve({ status: 200, text: JSON.stringify(body) });
  };
  const credentials = { packageName: 'p', appSecret: 's' };
  const channels = {
    credentialsOf: () => Promise.resolve({ vendor: 'xiaomi', version: 1, credentials }),
    open: () => {
      const protocol = xiaomiProtocol(credentials, { push: '', feedback: '' });
      const outbound = { send } as unknown as OutboundClient;
      return Promise.resolve(new AndroidChannel({ protocol, outbound, clock: new Clock(), title: '' }));
    },
  };
  const job = new VendorHousekeeping(
    lanes,
    channels as unknown as VendorChannels,
    { instance: 'one' } as unknown as ProcessInfo,
    new VendorSettlementRepository(database),
    new Metrics(),
  );
  return { job, listed };
}

async function invalidTokens(): Promise<string[]> {
  const rows = await database.query<{ id: string }>(
    'SELECT object_id AS id FROM push.installations WHERE app_id = $1 AND NOT valid ORDER BY 1',
    [appId],
  );
  return rows.map(({ id }) => id);
}

it('reads the list of credentials once for both environments', async () => {
  const { job } = newJob();
  expect(await job.processBatch()).toBe(true);
  expect(await invalidTokens()).toEqual(TOKENS);
  expect(await job.processBatch()).toBe(false);
});

it('finds the earlier reading of either environment', async () => {
  await database.query(
    `UPDATE push.vendor_lanes
        SET list_asked_at = CASE WHEN lane LIKE '%/dev' THEN now() - interval '2 hours' END,
            list_read_at = CASE WHEN lane LIKE '%/dev' THEN now() - interval '2 hours' END
      WHERE app_id = $1`,
    [appId],
  );
  await newJob().job.processBatch();
  expect(await invalidTokens()).toEqual(TOKENS);
});

it('reads a list in one process', async () => {
  const jobs = Array.from({ length: 4 }, () => newJob().job.processBatch());
  expect((await Promise.all(jobs)).filter((hasRead) => hasRead)).toEqual([true]);
});

it('asks for the next page of a list once the tokens of the last one are recorded', async () => {
  const invalidate = lanes.invalidate.bind(lanes);
  vi.spyOn(lanes, 'invalidate').mockImplementation((lane, names, tokens) =>
    tokens.includes('b') ? Promise.reject(new Error('a defect')) : invalidate(lane, names, tokens),
  );
  const { job, listed } = newJob();
  await job.processBatch();
  expect([await invalidTokens(), listed]).toEqual([['a'], ['c']]);
});

it('keeps a page of a list while PostgreSQL is away', async () => {
  vi.spyOn(lanes, 'invalidate').mockRejectedValueOnce(appError('SERVICE_UNAVAILABLE'));
  await newJob().job.processBatch();
  expect(await invalidTokens()).toEqual(TOKENS);
});

it('ends batches that have expired, except those of paused lanes and those under a lease', async () => {
  const name = (kind: string) => `meizu/${kind}//prod`;
  await database.query(
    `INSERT INTO push.vendor_lanes (app_id, lane, credentials_at, paused_at) VALUES ($1, $2, now(), now())`,
    [appId, name('paused')],
  );
  await database.query(
    `INSERT INTO push.notifications (app_id, object_id, status, is_bulk, target, data, message, prod, due_at, expires_at, created_at, updated_at, counts)
     VALUES ($1, 'push', 'done', false, '{}', '{}', '{}', 'prod', now(), now(), now(), now(), '{}')`,
    [appId],
  );
  await database.query(
    `INSERT INTO push.vendor_counts (app_id, object_id, vendor, targeted) VALUES ($1, 'push', 'meizu', 1210)`,
    [appId],
  );
  await database.query(
    `INSERT INTO push.vendor_batches (app_id, object_id, lane, is_bulk, targets, next_at, expires_at, lease_owner)
     SELECT $1, 'push', lane, false, '{a,b}', now(), now() + wait, lease
       FROM (VALUES ($2, interval '0', 600, NULL), ($3, interval '0', 2, NULL), ($2, interval '1 hour', 2, NULL), ($2, interval '0', 1, 'of a sender'))
         AS one (lane, wait, count, lease), generate_series(1, count)`,
    [appId, name('closed'), name('paused')],
  );
  const { job } = newJob();
  await job.processBatch();
  expect([await job.processBatch(), await job.processBatch()]).toEqual([false, false]);
  expect(await database.query('SELECT 1 FROM push.vendor_batches')).toHaveLength(5);
  const counts = await new VendorBatchesRepository(database).countsOf(appId, ['push']);
  expect(counts.get('push')).toMatchObject({ meizu: { expired: 1200, waiting: 10, reasons: { expired: 1200 } } });
});
