import { Redis as Client } from 'ioredis';
import { afterAll, beforeAll } from 'vitest';
import { Redis } from '#redis';
import { eventually, isProvided, newNamespace, type Part, testRun } from '#testing';
import type { DeviceQueueLimits, DeviceQueues } from '../src/device-queues/device-queues.js';
import { PostgresDeviceQueues } from '../src/device-queues/postgres-device-queues.store.js';
import { RedisDeviceQueues } from '../src/device-queues/redis-device-queues.store.js';
import type { PushDatabase } from '../src/push-delivery.database.js';
import { openPushDatabase } from './push-database.js';

/** The store of one process. */
export interface QueueStore {
  readonly name: string;
  /** Opens the store as a process does at its start. */
  readonly open: (limits?: Partial<DeviceQueueLimits>) => DeviceQueues;
  /** The number of an application's queue entries and messages. */
  readonly left: (appId: string) => Promise<number>;
}

/** Messages in a queue of these tests. */
export const QUEUE_LIMIT = 5;
const LIMITS: DeviceQueueLimits = { queueLimit: QUEUE_LIMIT, conflictMs: 60_000 };

/** Redis, where it is provided, and PostgreSQL, for the tests of a file. */
export function useQueueStores(): { stores: QueueStore[]; redis: () => Redis; namespace: string } {
  const namespace = newNamespace();
  let redis: Redis;
  let client: Client;
  let database: PushDatabase;
  beforeAll(async () => {
    if (isProvided('redis')) {
      redis = new Redis({ url: testRun().redisUrl, namespace, connectionName: 'test' });
      client = new Client(testRun().redisUrl);
      await eventually(() => redis.ping());
    }
    database = await openPushDatabase(8);
  });
  afterAll(async () => {
    if (isProvided('redis')) {
      redis.close();
      client.disconnect();
    }
    await database.close();
  });
  const rowsOf = `
    SELECT 1 FROM push.queued_messages WHERE app_id = $1 UNION ALL SELECT 1 FROM push.messages WHERE app_id = $1
    UNION ALL SELECT 1 FROM push.dropped_messages WHERE app_id = $1`;
  const stores: (QueueStore & { readonly part: Part })[] = [
    {
      name: 'Redis',
      part: 'redis',
      open: (limits) => new RedisDeviceQueues(redis, { ...LIMITS, ...limits }),
      left: async (appId) => (await client.keys(`${namespace}:push:{*}:queue:${appId}:*`)).length,
    },
    {
      name: 'PostgreSQL',
      part: 'postgresql',
      open: (limits) => new PostgresDeviceQueues(database, { ...LIMITS, ...limits }),
      left: async (appId) => (await database.query(rowsOf, [appId])).length,
    },
  ];
  return { stores: stores.filter(({ part }) => isProvided(part)), redis: () => redis, namespace };
}
