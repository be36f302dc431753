import { Clock } from '#bootstrap';
import { broadcastContracts } from '#contracts';
import { migrate } from '#database';
import { Broadcasts } from '#messaging';
import { Metrics } from '#observability';
import { eventually, FakeTransport, newDatabase, unique } from '#testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
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

it('a sender that hears late of a resumption sends what it has found paused meanwhile', async () => {
  const appId = unique('app');
  await addWaitingDevice(appId);
  let pausedLanes = new Set([LANE]);
  const sent: string[] = [];
  const channels: Pick<VendorChannels, 'credentialsOf' | 'open' | 'windowOf'> = {
    credentialsOf: () => Promise.resolve({ vendor: 'meizu', version: 1, credentials: {} as never, pausedLanes }),
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
  const sender = new VendorSender(
    new VendorBatchesRepository(database),
    new VendorSettlementRepository(database),
    new VendorLanesRepository(database),
    channels as VendorChannels,
    new Clock(),
    new Metrics(),
    broadcasts,
  );
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
