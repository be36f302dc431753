import { Redis as Client } from 'ioredis';
import { afterAll, beforeAll } from 'vitest';
import type { Database } from '#database';
import { Redis } from '#redis';
import { eventually, isProvided, newNamespace, type Part, testRun } from '#testing';
import { describeLockout } from '../../test/lockout.suite.js';
import { newAccountsDatabase } from '../../test/stored.js';
import type { LockoutLimits, LockoutStore } from './lockout.rules.js';
import { PostgresLockoutStore } from './postgres-lockout.store.js';
import { RedisLockoutStore } from './redis-lockout.store.js';

const namespace = newNamespace();
let redis: Redis;
let database: Database;
let client: Client;

beforeAll(async () => {
  if (isProvided('redis')) {
    const { redisUrl } = testRun();
    redis = new Redis({ url: redisUrl, namespace, connectionName: 'test' });
    client = new Client(redisUrl);
    await eventually(() => redis.ping());
  }
  // A hundred attempts at once wait for ten connections.
  ({ database } = await newAccountsDatabase(10, { connectTimeoutMs: 20_000 }));
});
afterAll(async () => {
  if (isProvided('redis')) {
    redis.close();
    client.disconnect();
  }
  await database.close();
});

/** Both adapters fulfil the same contract; `rowsOf` counts the records of an application. */
const STORES: {
  name: string;
  part: Part;
  open: (limits: LockoutLimits) => LockoutStore;
  rowsOf: (appId: string) => Promise<number>;
}[] = [
  {
    name: 'Redis',
    part: 'redis',
    open: (limits) => new RedisLockoutStore(redis, limits),
    rowsOf: async (appId) => (await client.keys(`${namespace}:lockout:*{${appId}}*`)).length,
  },
  {
    name: 'PostgreSQL',
    part: 'postgresql',
    open: (limits) => new PostgresLockoutStore(database, limits),
    rowsOf: async (appId) =>
      (await database.query('SELECT 1 FROM accounts.lockouts WHERE app_id = $1', [appId])).length,
  },
];

for (const store of STORES.filter(({ part }) => isProvided(part))) describeLockout(store);
