import { Redis as Client } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MemoryRequestCounter, type RequestCounter } from '#admission';
import { Clock } from '#bootstrap';
import { Metrics } from '#observability';
import { Redis } from '#redis';
import { newNamespace, TcpProxy, testRun, unique } from '#testing';
import {
  FallbackRequestCounter,
  RedisLimitedClients,
  RedisRequestCounter,
} from '../src/rate-limits/redis-request-counter.store.js';
import { counterKeyOf, type LimitedClients, MemoryLimitedClients } from '../src/rate-limits/request-limits.js';

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('counters of requests', () => {
  let proxy: TcpProxy;
  let namespace: string;
  let client: Client;
  const connections: Redis[] = [];

  /** A connection of its own, as each gateway has one. */
  const connect = async (): Promise<Redis> => {
    const redis = new Redis({ url: proxy.urlFor(testRun().redisUrl), namespace, connectionName: 'counters' });
    connections.push(redis);
    await untilConnected(redis);
    return redis;
  };
  const untilConnected = async (redis: Redis): Promise<void> => {
    await expect
      .poll(
        () =>
          redis.ping().then(
            () => true,
            () => false,
          ),
        { timeout: 10_000 },
      )
      .toBe(true);
  };

  beforeAll(async () => {
    namespace = newNamespace();
    proxy = await TcpProxy.to(new URL(testRun().redisUrl), 6379);
    client = new Client(testRun().redisUrl);
  });
  afterAll(async () => {
    for (const redis of connections) redis.close();
    const keys = await client.keys(`${namespace}:*`);
    if (keys.length > 0) await client.del(keys);
    client.disconnect();
    await proxy.close();
  });

  const counters: [string, () => Promise<RequestCounter>][] = [
    ['in memory', () => Promise.resolve(new MemoryRequestCounter())],
    ['in Redis', async () => new RedisRequestCounter(await connect())],
    [
      'in Redis with a fallback',
      async () =>
        new FallbackRequestCounter(new RedisRequestCounter(await connect()), new MemoryRequestCounter(), new Metrics()),
    ],
  ];
  describe.each(counters)('%s', (_, create) => {
    it('count each key for itself, and say how long the window lasts', async () => {
      const counter = await create();
      const [key, other] = [unique('key'), unique('key')];
      const counts = [await counter.count(key, 60), await counter.count(key, 60), await counter.count(other, 30)];
      expect(counts.map(({ count }) => count)).toEqual([1, 2, 1]);
      for (const { resetMs } of counts.slice(0, 2)) expect([resetMs > 58_000, resetMs <= 60_000]).toEqual([true, true]);
      expect(counts[2]?.resetMs).toBeLessThanOrEqual(30_000);
    });

    it('begin anew when the window is over, and not before', async () => {
      const counter = await create();
      const key = unique('key');
      await counter.count(key, 1);
      await pause(600);
      expect(await counter.count(key, 1)).toMatchObject({ count: 2 });
      await pause(600);
      expect(await counter.count(key, 1)).toMatchObject({ count: 1 });
    });

    it('lose none of parallel requests', async () => {
      const counter = await create();
      const key = unique('key');
      const counts = await Promise.all(Array.from({ length: 100 }, () => counter.count(key, 60)));
      expect(counts.map(({ count }) => count).sort((a, b) => a - b)).toEqual(
        Array.from({ length: 100 }, (_each, index) => index + 1),
      );
    });
  });

  it('in Redis are shared by all gateways, and leave nothing behind', async () => {
    const [one, two] = [new RedisRequestCounter(await connect()), new RedisRequestCounter(await connect())];
    const key = unique('key');
    expect((await one.count(key, 60)).count).toBe(1);
    expect((await two.count(key, 60)).count).toBe(2);
    expect(await client.pttl(`${namespace}:rate-limits:${key}`)).toBeGreaterThan(0);
    await client.persist(`${namespace}:rate-limits:${key}`);
    await one.count(key, 60);
    expect(await client.pttl(`${namespace}:rate-limits:${key}`)).toBeGreaterThan(0);
  });

  const stores: [string, () => Promise<{ counter: RequestCounter; clients: LimitedClients }>][] = [
    [
      'in memory',
      () => {
        const counter = new MemoryRequestCounter();
        return Promise.resolve({ counter, clients: new MemoryLimitedClients(counter, new Clock()) });
      },
    ],
    [
      'in Redis',
      async () => {
        const redis = await connect();
        return { counter: new RedisRequestCounter(redis), clients: new RedisLimitedClients(redis) };
      },
    ],
  ];
  describe.each(stores)('recorded clients %s', (_, create) => {
    const client = (network: string) => ({ group: 'logins', network });

    it('have the count of their window until it ends, the latest first', async () => {
      const { counter, clients } = await create();
      const [app, other] = [unique('app'), unique('app')];
      const [one, two] = [client('203.0.113.1'), client('2001:db8:1:2::/64')];
      await counter.count(counterKeyOf(app, one), 60);
      await counter.count(counterKeyOf(app, one), 60);
      await clients.record(app, one, 700);
      await clients.record(app, two, 60_000);
      await clients.record(app, two, 60_000);
      await clients.record(other, one, 60_000);
      expect(await clients.list(app, 10)).toMatchObject([
        { ...two, count: 0 },
        { ...one, count: 2 },
      ]);
      const [latest, ...others] = await clients.list(app, 1);
      expect([latest?.network, others]).toEqual([two.network, []]);
      const rest = Date.parse(latest?.until ?? '') - Date.now();
      expect([rest > 50_000, rest <= 60_500]).toEqual([true, true]);
      await expect.poll(() => clients.list(app, 10)).toMatchObject([two]);
    });

    it('are at most 1,000 of an application', async () => {
      const { clients } = await create();
      const app = unique('app');
      for (let index = 0; index < 1_003; index += 1)
        await clients.record(app, client(`10.0.${index >> 8}.${index & 255}`), 60_000 + index);
      const listed = await clients.list(app, 2_000);
      expect(listed).toHaveLength(1_000);
      expect(listed.map(({ network }) => network)).not.toContain('10.0.0.2');
    });
  });

  it('recorded in Redis leave nothing behind, and are shared by all gateways', async () => {
    const [one, two] = [new RedisLimitedClients(await connect()), new RedisLimitedClients(await connect())];
    const app = unique('app');
    await one.record(app, { group: 'logins', network: '203.0.113.1' }, 60_000);
    await one.record(app, { group: 'logins', network: '203.0.113.2' }, 10);
    await expect.poll(() => two.list(app, 10)).toMatchObject([{ network: '203.0.113.1' }]);
    const left = await client.pttl(`${namespace}:rate-limits:limited:${app}`);
    expect([left > 50_000, left <= 60_000]).toEqual([true, true]);
  });

  describe.each<[string, (proxy: TcpProxy) => void]>([
    [
      'is gone',
      (each) => {
        each.takeAway();
      },
    ],
    [
      'is silent',
      (each) => {
        each.silence();
      },
    ],
  ])('where Redis %s', (_, takeAway) => {
    it('count alone, without delay but at first, and share again by themselves', async () => {
      const metrics = new Metrics();
      const redis = await connect();
      const counter = new FallbackRequestCounter(new RedisRequestCounter(redis), new MemoryRequestCounter(), metrics);
      const key = unique('key');
      const timed = async () => {
        const start = performance.now();
        const { count } = await counter.count(key, 60);
        return { count, ms: performance.now() - start };
      };
      await timed();
      await timed();
      takeAway(proxy);
      const first = await Promise.all([timed(), timed()]);
      expect(first.map(({ count }) => count).sort()).toEqual([1, 2]);
      expect(Math.max(...first.map(({ ms }) => ms))).toBeLessThan(1_200);
      for (let count = 3; count < 60; count += 1) {
        const later = await timed();
        expect([later.count, later.ms < 100]).toEqual([count, true]);
        await pause(50);
      }
      expect(await metrics.registry.getSingleMetricAsString('gatepost_rate_limit_fallbacks_total')).toMatch(/ 59$/);
      proxy.bringBack();
      await untilConnected(redis);
      const { count } = await timed();
      // Redis may have counted requests whose reply was lost.
      expect([count >= 3, count <= 5]).toEqual([true, true]);
    });
  });
});
