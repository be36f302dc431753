import { randomBytes } from 'node:crypto';
import { Redis as Client } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { PushMessage } from '#contracts';
import { migrate } from '#database';
import { Redis } from '#redis';
import { eventually, newDatabase, newNamespace, testRun, unique } from '#testing';
import { PushDatabase, pushDatabase } from '../push-delivery.database.js';
import { type DeviceAddress, partitionOf } from './device-address.js';
import type { DeviceQueues, EnqueuedDevice, SessionRef } from './device-queues.js';
import { PostgresDeviceQueues } from './postgres-device-queues.store.js';
import { RedisDeviceQueues } from './redis-device-queues.store.js';

const LIMIT = 5;
const HOUR_MS = 3_600_000;
/** Long enough for what a test does within it on a busy machine. */
const SHORT_MS = 2_000;
const PAGE = 50;
const namespace = newNamespace();
let redis: Redis;
let client: Client;
let database: PushDatabase;

beforeAll(async () => {
  const { redisUrl } = testRun();
  redis = new Redis({ url: redisUrl, namespace, connectionName: 'test' });
  client = new Client(redisUrl);
  await eventually(() => redis.ping());
  const options = pushDatabase(await newDatabase(), 8);
  await migrate(options);
  database = new PushDatabase(options);
});
afterAll(async () => {
  redis.close();
  client.disconnect();
  await database.close();
});

/** Both stores keep the same promises; `left` counts what one keeps of an application's queues and messages. */
describe.each<{ name: string; open: () => DeviceQueues; left: (appId: string) => Promise<number> }>([
  {
    name: 'Redis',
    open: () => new RedisDeviceQueues(redis, LIMIT),
    left: async (appId) => (await client.keys(`${namespace}:push:{*}:queue:${appId}:*`)).length,
  },
  {
    name: 'PostgreSQL',
    open: () => new PostgresDeviceQueues(database, LIMIT),
    left: async (appId) =>
      (
        await database.query(
          `SELECT 1 FROM push.queued_messages WHERE app_id = $1 UNION ALL SELECT 1 FROM push.messages WHERE app_id = $1`,
          [appId],
        )
      ).length,
  },
])('the queues of devices in $name', ({ open, left }) => {
  let queues: DeviceQueues;
  let appId: string;
  let device: DeviceAddress;
  let order = 0;

  beforeEach(() => {
    queues = open();
    appId = unique('app');
    device = { appId, installationId: unique('device') };
  });

  const newId = () => randomBytes(12).toString('hex');
  const newDevice = (): DeviceAddress => ({ appId, installationId: unique('device') });
  const newMessage = (values: Partial<PushMessage> = {}): PushMessage => ({
    id: newId(),
    appId,
    order: (order += 1),
    expiresAt: Date.now() + HOUR_MS,
    bodies: { ios: '{"alert":"pomme"}' },
    body: '{"alert":"名前"}',
    ...values,
  });
  const session = (node = 'node-1'): SessionRef => ({ node, session: unique('session') });
  const asEnqueued = ({ installationId }: DeviceAddress, platform = 'android', position = newId()): EnqueuedDevice => ({
    installationId,
    platform,
    position,
  });
  /** Enqueues for devices that need not share a partition. */
  const enqueue = async (message: PushMessage, ...devices: DeviceAddress[]) => {
    const connected = await Promise.all(
      devices.map((one) =>
        queues.enqueue({
          message,
          partition: partitionOf({ ...one, appId: message.appId }),
          devices: [asEnqueued(one)],
        }),
      ),
    );
    return connected.flat();
  };
  const idsIn = async (one: DeviceAddress, limit = PAGE) => (await queues.peek(one, limit)).refs.map(({ id }) => id);
  const acknowledge = (one: DeviceAddress, ids: readonly string[], droppedTold = 0) =>
    queues.acknowledge([{ device: one, refs: ids.map((id) => ({ id, platform: 'android' })), droppedTold }]);
  const tallyOf = async (message: PushMessage, platform = 'android') => (await queues.tally(message)).get(platform);

  it('keeps messages in the order of their pushes until they are acknowledged', async () => {
    const [first, second, third] = [newMessage(), newMessage(), newMessage()];
    for (const message of [second, third, first]) await enqueue(message, device);
    expect(await idsIn(device)).toEqual([first.id, second.id, third.id]);
    await acknowledge(device, [second.id]);
    expect(await idsIn(device)).toEqual([first.id, third.id]);
    await acknowledge(device, [first.id, third.id]);
    expect(await queues.peek(device, PAGE)).toEqual({ refs: [], hasMore: false, dropped: 0 });
    expect(await tallyOf(third)).toEqual({ enqueued: 1, acknowledged: 1, overflowed: 0 });
    expect(await left(appId)).toBeLessThanOrEqual(3);
  });

  it('says where connected devices are, and nothing of others', async () => {
    const away = newDevice();
    await queues.connect(device, session('node-7'), PAGE);
    expect(await enqueue(newMessage(), device, away)).toEqual([
      { installationId: device.installationId, platform: 'android', node: 'node-7' },
    ]);
  });

  it('gives the bodies of messages that have not expired', async () => {
    const [message, short] = [newMessage(), newMessage({ expiresAt: Date.now() + SHORT_MS })];
    await enqueue(message, device);
    await enqueue(short, device);
    expect(await queues.messages([newId(), message.id])).toEqual([message]);
    await eventually(async () => {
      expect(await queues.messages([short.id, message.id])).toEqual([message]);
    });
    expect(await queues.messages([])).toEqual([]);
  });
});
