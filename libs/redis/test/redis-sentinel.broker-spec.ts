import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually, newNamespace, RedisGroup, unique } from '#testing';
import { Redis, RedisScript } from '../src/redis.js';

const UNAVAILABLE = { errorName: 'SERVICE_UNAVAILABLE', status: 503 };
const START_MS = 60_000;
const FAILOVER_MS = 25_000;

const count = new RedisScript("return redis.call('INCRBY', KEYS[1], ARGV[1])");

describe('a Redis with Sentinels', () => {
  const [namespace, key] = [newNamespace(), unique('counter')];
  let group: RedisGroup;
  let redis: Redis;

  beforeAll(async () => {
    group = await RedisGroup.watched();
    redis = new Redis({ url: group.url, namespace, connectionName: 'gatepost-test' });
    await eventually(() => redis.ping(), START_MS);
  }, START_MS);
  afterAll(async () => {
    redis.close();
    await group.stop();
  });

  const add = (number: number) => redis.run<number>(count, [key], [number]);

  const valueOn = async (place: number) => Number(await group.clients[place]!.get(`${namespace}:${key}`));

  it('is served by its master', async () => {
    expect([await add(2), await add(3)]).toEqual([2, 5]);
    expect(redis.servers().size).toBe(1);
  });

  it('is not ready while its master refuses writes', async () => {
    const requireReplicas = (number: number) => group.clients[0]!.config('SET', 'min-replicas-to-write', number);
    await requireReplicas(2);
    await expect(redis.ping()).rejects.toMatchObject(UNAVAILABLE);
    await requireReplicas(0);
    await redis.ping();
    expect(await group.keys('*never*')).toEqual([]);
  });

  it('is not ready at an address that leads to the replica', async () => {
    const { host, port, password } = group.clients[1]!.options;
    const url = `redis://:${password}@${host}:${port}`;
    const misled = new Redis({ url, namespace, connectionName: 'gatepost-test' });
    await eventually(() => {
      expect(misled.isConnected).toBe(true);
    });
    await expect(misled.ping()).rejects.toMatchObject({
      ...UNAVAILABLE,
      cause: expect.objectContaining({ message: expect.stringContaining('READONLY') as string }) as Error,
    });
    misled.close();
  });

  it('reconnects when the Sentinels promote another master, though the old master still replies', async () => {
    await eventually(async () => {
      const [role] = await group.clients[1]!.role();
      if (role === 'master') return;
      // Replicated data is not lost.
      expect(await group.clients[0]!.wait(1, 1_000)).toBe(1);
      // Sentinels give up a failover that takes too long, and start no other while the master replies.
      await group.failOver();
      throw new Error('the replica is not the master yet');
    }, FAILOVER_MS);
    await eventually(async () => {
      // Writes to the old master are lost until it learns of the failover.
      const counted = await add(1);
      expect([await group.clients[1]!.role(), await valueOn(1)]).toEqual([expect.arrayContaining(['master']), counted]);
    }, FAILOVER_MS);
  });

  it('is unavailable while its master is down, and served by the promoted replica afterwards', async () => {
    const memory = await redis.memory();
    const { host, port } = group.clients[1]!.options;
    // The Sentinels do the same after about ten seconds.
    await group.clients[0]!.replicaof(host!, port!);
    await eventually(async () => {
      expect(await group.clients[1]!.wait(1, 1_000)).toBe(1);
    }, FAILOVER_MS);
    const counted = await valueOn(1);
    group.crash(1);
    await eventually(async () => {
      await expect(add(0)).rejects.toMatchObject(UNAVAILABLE);
      // The command may fail before the connection notes that it has ended.
      expect(redis.isConnected).toBe(false);
    });
    await eventually(async () => {
      expect(await add(0)).toBe(counted);
    }, FAILOVER_MS);
    expect(await redis.memory()).not.toBe(memory);
    expect(await add(1)).toBe(counted + 1);
    expect(await valueOn(0)).toBe(counted + 1);
  });
});
