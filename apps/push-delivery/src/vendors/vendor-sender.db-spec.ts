import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { Clock } from '#bootstrap';
import { broadcastContracts } from '#contracts';
import { appError } from '#errors';
import { Broadcasts } from '#messaging';
import { Metrics } from '#observability';
import { Sealer } from '#security';
import { eventually, FakeTransport, unique } from '#testing';
import { openPushDatabase } from '../../test/push-database.js';
import type { PushDatabase } from '../push-delivery.database.js';
import { VendorBatchesRepository } from './vendor-batches.repository.js';
import type { VendorChannel } from './vendor-channel.rules.js';
import type { VendorChannels } from './vendor-channels.js';
import { VendorCredentialsService } from './vendor-credentials.service.js';
import { VendorLanesRepository } from './vendor-lanes.repository.js';
import { VendorSender } from './vendor-sender.js';
import { VendorSettlementRepository } from './vendor-settlement.repository.js';

const LANE = 'meizu/_default//prod';

let database: PushDatabase;
beforeAll(async () => {
  database = await openPushDatabase(4);
});
afterAll(() => database.close());

interface Waiting {
  readonly pushes: number;
  readonly isBulk: boolean;
}

/** A device with pushes that wait for a sender. Its token is the application's id. */
async function addWaitingDevice(appId: string, { pushes, isBulk }: Waiting): Promise<void> {
  await database.query(
    `INSERT INTO push.installations (app_id, object_id, partition, device_type, device_token, fields, created_at, updated_at)
     VALUES ($1, 'device', 0, 'android', 't', jsonb_build_object('vendor', 'mz', 'registrationId', $1::text), now(), now())`,
    [appId],
  );
  await database.query(
    `INSERT INTO push.notifications (app_id, object_id, status, is_bulk, target, data, message, prod, due_at, expires_at, created_at, updated_at, counts)
     SELECT $1, 'push' || place, 'done', $3, '{}', '{}', '{"body":"{}","bodies":{}}', 'prod', now(), now() + interval '1 hour', now(), now(), '{}'
       FROM generate_series(1, $2::int) AS place`,
    [appId, pushes, isBulk],
  );
  await database.query(
    `INSERT INTO push.vendor_counts (app_id, object_id, vendor, targeted)
     SELECT $1, 'push' || place, 'meizu', 1 FROM generate_series(1, $2::int) AS place`,
    [appId, pushes],
  );
  await database.query(
    `INSERT INTO push.vendor_batches (app_id, object_id, lane, is_bulk, targets, next_at, expires_at)
     SELECT $1, 'push' || place, $4, $3, '{device}', now() - interval '1 second', now() + interval '1 hour'
       FROM generate_series(1, $2::int) AS place`,
    [appId, pushes, isBulk, LANE],
  );
}

const ONE_PUSH = { pushes: 1, isBulk: false };

/** A channel that accepts everything, and notes the tokens. */
function acceptInto(sent: string[]): VendorChannel['send'] {
  return (_, targets) => {
    sent.push(...targets.map(({ token }) => token));
    return Promise.resolve(targets.map(() => ({ kind: 'accepted' })));
  };
}

/** A sender, and the parts that a test watches and changes. */
function newSender(send: VendorChannel['send'], pausedLanes: () => Set<string>) {
  const channel = { targetsPerRequest: 1, send, check: () => Promise.resolve(undefined), close: () => undefined };
  const channels: Pick<VendorChannels, 'credentialsOf' | 'open' | 'windowOf'> = {
    credentialsOf: () =>
      Promise.resolve({ vendor: 'meizu', version: 1, credentials: {} as never, pausedLanes: pausedLanes() }),
    open: () => Promise.resolve(channel),
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
  return { sender, broadcasts, batches, settlements };
}

const accepted = async (appId: string) => {
  const [row] = await database.query<{ accepted: number }>(
    'SELECT accepted FROM push.vendor_counts WHERE app_id = $1',
    [appId],
  );
  return row?.accepted;
};

afterEach(() => database.query('TRUNCATE push.vendor_batches'));

it('a sender that receives a resumption late sends what was paused meanwhile', async () => {
  const appId = unique('app');
  await addWaitingDevice(appId, ONE_PUSH);
  let pausedLanes = new Set([LANE]);
  const sent: string[] = [];
  const { sender, broadcasts } = newSender(acceptInto(sent), () => pausedLanes);
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
      expect(sent).toEqual([appId]);
    });
  } finally {
    await sender.beforeApplicationShutdown();
  }
});

/** Runs the sender until PostgreSQL has the one result of the application. */
async function runUntilAccepted(sender: VendorSender, appId: string): Promise<void> {
  sender.onApplicationBootstrap();
  try {
    await eventually(async () => {
      expect(await accepted(appId)).toBe(1);
    });
  } finally {
    await sender.beforeApplicationShutdown();
  }
}

it('a sender records results once PostgreSQL is back, and sends nothing again', async () => {
  const appId = unique('app');
  await addWaitingDevice(appId, ONE_PUSH);
  const sent: string[] = [];
  const { sender, settlements } = newSender(acceptInto(sent), () => new Set());
  vi.spyOn(settlements, 'settle').mockRejectedValueOnce(appError('SERVICE_UNAVAILABLE'));
  await runUntilAccepted(sender, appId);
  expect(sent).toEqual([appId]);
});

it('a sender does not claim a batch again whose results it still holds', async () => {
  const appId = unique('app');
  await addWaitingDevice(appId, ONE_PUSH);
  const sent: string[] = [];
  const { sender, batches, settlements } = newSender(acceptInto(sent), () => new Set());
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
  await runUntilAccepted(sender, appId);
  expect(sent).toEqual([appId]);
});

it.each([
  [4, 'single', false],
  [40, 'single', false],
  [12, 'large', true],
])('a vendor that is silent for %i applications delays no %s push of another one', async (count, _, isBulk) => {
  const silent = Array.from({ length: count }, () => unique('silent'));
  for (const appId of silent) await addWaitingDevice(appId, { pushes: 100, isBulk });
  const healthy = unique('healthy');
  await addWaitingDevice(healthy, { pushes: 20, isBulk });
  const sent = new Map<string, number>();
  let endSilence: () => void = () => undefined;
  const silence = new Promise<void>((resolve) => (endSilence = resolve));
  const { sender } = newSender(
    async (_push, targets) => {
      for (const { token } of targets) sent.set(token, (sent.get(token) ?? 0) + 1);
      if (targets.some(({ token }) => token === healthy)) return targets.map(() => ({ kind: 'accepted' }));
      await silence;
      return targets.map(() => ({ kind: 'unsure', reason: 'no answer', scope: 'lane' }));
    },
    () => new Set(),
  );
  const startedAt = performance.now();
  sender.onApplicationBootstrap();
  try {
    await eventually(() => {
      expect(sent.get(healthy)).toBe(20);
    });
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    // One batch finds out whether a vendor answers.
    expect(silent.map((appId) => sent.get(appId) ?? 0)).toEqual(silent.map(() => 1));
  } finally {
    endSilence();
    await sender.beforeApplicationShutdown();
  }
});

it('a resumption is announced where PostgreSQL is away before the devices are due', async () => {
  const broadcasts = new Broadcasts(new FakeTransport());
  const announced: unknown[] = [];
  broadcasts.on(broadcastContracts.vendorsChanged, (change) => {
    announced.push(change);
  });
  const batches = new VendorBatchesRepository(database);
  vi.spyOn(batches, 'resume').mockRejectedValue(appError('SERVICE_UNAVAILABLE'));
  const lanes = new VendorLanesRepository(database);
  vi.spyOn(lanes, 'change').mockResolvedValue(true);
  const sealer = new Sealer('a secret of thirty-two characters, or more');
  const credentials = new VendorCredentialsService({} as never, sealer, {} as never, broadcasts, batches, lanes);
  const key = { appId: 'app', vendor: 'meizu', profile: '_default', part: '' } as const;
  await expect(credentials.change(key, 'resume')).rejects.toMatchObject({ errorName: 'SERVICE_UNAVAILABLE' });
  await eventually(() => {
    expect(announced).toEqual([{ appId: 'app', resumed: ['meizu/_default//dev', LANE] }]);
  });
});

it('a resumption makes all waiting devices due, also in several steps', async () => {
  const appId = unique('app');
  await addWaitingDevice(appId, { pushes: 6_000, isBulk: true });
  await database.query(`UPDATE push.vendor_batches SET next_at = now() + interval '1 hour'`);
  const query = vi.spyOn(database, 'query');
  await new VendorBatchesRepository(database).resume(appId, [LANE]);
  expect(query).toHaveBeenCalledTimes(2);
  expect(await database.query('SELECT 1 FROM push.vendor_batches WHERE next_at > now()')).toEqual([]);
  query.mockRestore();
});
