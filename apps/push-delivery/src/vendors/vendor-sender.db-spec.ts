import { Clock } from '#bootstrap';
import { broadcastContracts } from '#contracts';
import { migrate } from '#database';
import { appError } from '#errors';
import { Broadcasts } from '#messaging';
import { Metrics } from '#observability';
import { eventually, FakeTransport, newDatabase, unique } from '#testing';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { PushDatabase, pushDatabase } from '../push-delivery.database.js';
import { VendorBatchesRepository } from './vendor-batches.repository.js';
import type { VendorChannels } from './vendor-channels.js';
import { VendorLanesRepository } from './vendor-lanes.repository.js';
import { VendorSender } from './vendor-sender.js';
import { VendorSettlementRepository } from './vendor-settlement.repository.js';

const LANE = 'meizu/_default//prod';

let database: PushDatabase;
beforeAll(async () => {
  const options = pushDatabase(await newDatabase(), 4);
  await migrate(options);
  database = new PushDatabase(options);
});
afterAll(() => database.close());

/** A device whose push waits for a sender. */
async function addWaitingDevice(appId: string): Promise<void> {
  await database.query(
    `INSERT INTO push.installations (app_id, object_id, partition, device_type, device_token, fields, created_at, updated_at)
     VALUES ($1, 'device', 0, 'android', 't', '{"vendor":"mz","registrationId":"t"}', now(), now())`,
    [appId],
  );
  await database.query(
    `INSERT INTO push.notifications (app_id, object_id, status, is_bulk, target, data, message, prod, due_at, expires_at, created_at, updated_at, counts)
     VALUES ($1, 'push', 'done', false, '{}', '{}', '{"body":"{}","bodies":{}}', 'prod', now(), now() + interval '1 hour', now(), now(), '{}')`,
    [appId],
  );
  await database.query(
    `INSERT INTO push.vendor_counts (app_id, object_id, vendor, targeted) VALUES ($1, 'push', 'meizu', 1)`,
    [appId],
  );
  await database.query(
    `INSERT INTO push.vendor_batches (app_id, object_id, lane, is_bulk, targets, next_at, expires_at)
     VALUES ($1, 'push', $2, false, '{device}', now() - interval '1 second', now() + interval '1 hour')`,
    [appId, LANE],
  );
}

/** A sender, what it has sent, and how it hears of changes. @param pausedLanes those that are paused now */
function newSender(pausedLanes: () => ReadonlySet<string> = () => new Set()) {
  const sent: string[] = [];
  const channels: Pick<VendorChannels, 'credentialsOf' | 'open' | 'windowOf'> = {
    credentialsOf: () =>
      Promise.resolve({ vendor: 'meizu', version: 1, credentials: {} as never, pausedLanes: pausedLanes() }),
    open: () =>
      Promise.resolve({
        targetsPerRequest: 1,
        send: (_, targets) => {
          sent.push(...targets.map(({ token }) => token));
          return Promise.resolve(targets.map(() => ({ kind: 'accepted' })));
        },
        check: () => Promise.resolve(undefined),
        close: () => undefined,
      }),
    windowOf: () => 10,
  };
  const broadcasts = new Broadcasts(new FakeTransport());
  const batches = new VendorBatchesRepository(database);
  const settlements = new VendorSettlementRepository(database);
  const sender = new VendorSender(
    batches,
    settlements,
    new VendorLanesRepository(database),
    channels as VendorChannels,
    new Clock(),
    new Metrics(),
    broadcasts,
  );
  return { sender, sent, broadcasts, batches, settlements };
}

const accepted = async (appId: string) => {
  const [row] = await database.query<{ accepted: number }>(
    'SELECT accepted FROM push.vendor_counts WHERE app_id = $1',
    [appId],
  );
  return row?.accepted;
};

it('a sender that hears late of a resumption sends what it has found paused meanwhile', async () => {
  const appId = unique('app');
  await addWaitingDevice(appId);
  let pausedLanes = new Set([LANE]);
  const { sender, sent, broadcasts } = newSender(() => pausedLanes);
  sender.onApplicationBootstrap();
  try {
    await eventually(async () => {
      const [batch] = await database.query<{ minutes: number }>(
        'SELECT extract(epoch FROM next_at - now())::float8 / 60 AS minutes FROM push.vendor_batches WHERE app_id = $1',
        [appId],
      );
      expect(batch?.minutes).toBeGreaterThan(4);
    });
    expect(sent).toEqual([]);
    pausedLanes = new Set();
    broadcasts.send(broadcastContracts.vendorsChanged, { appId, resumed: [LANE] });
    await eventually(() => {
      expect(sent).toEqual(['t']);
    });
  } finally {
    await sender.beforeApplicationShutdown();
  }
});

it('a sender records results once PostgreSQL is back, and sends nothing again', async () => {
  const appId = unique('app');
  await addWaitingDevice(appId);
  const { sender, sent, settlements } = newSender();
  vi.spyOn(settlements, 'settle').mockRejectedValueOnce(appError('SERVICE_UNAVAILABLE'));
  sender.onApplicationBootstrap();
  try {
    await eventually(async () => {
      expect(await accepted(appId)).toBe(1);
    });
    expect(sent).toEqual(['t']);
  } finally {
    await sender.beforeApplicationShutdown();
  }
});

it('a sender does not claim a batch again whose results it still holds', async () => {
  const appId = unique('app');
  await addWaitingDevice(appId);
  const { sender, sent, batches, settlements } = newSender();
  vi.spyOn(batches, 'renew').mockRejectedValue(appError('SERVICE_UNAVAILABLE'));
  const settle = settlements.settle.bind(settlements);
  let awayUntil: number | undefined;
  vi.spyOn(settlements, 'settle').mockImplementation(async (...parameters) => {
    // Longer than the interval at which senders look for batches.
    awayUntil ??= performance.now() + 1_500;
    if (performance.now() >= awayUntil) return settle(...parameters);
    await database.query('UPDATE push.vendor_batches SET lease_until = now() WHERE app_id = $1', [appId]);
    throw appError('SERVICE_UNAVAILABLE');
  });
  sender.onApplicationBootstrap();
  try {
    await eventually(async () => {
      expect(await accepted(appId)).toBe(1);
    });
    expect(sent).toEqual(['t']);
  } finally {
    await sender.beforeApplicationShutdown();
  }
});
