import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Metrics, ProcessInfo, Readiness } from '#observability';
import { eventually, newNamespace, RedisGroup, unique } from '#testing';
import { Redis, RedisModule, RedisScript } from '../src/redis.js';

const UNAVAILABLE = { errorName: 'SERVICE_UNAVAILABLE', status: 503 };
const PATIENCE_MS = 1_000;
const START_MS = 60_000;

const count = new RedisScript("return redis.call('INCRBY', KEYS[1], ARGV[1])");
const countTwo = new RedisScript("redis.call('INCR', KEYS[1]) return redis.call('INCR', KEYS[1] .. ':more')");

describe('a cluster of Redis', () => {
  const namespace = newNamespace();
  let group: RedisGroup;
  let redis: Redis;

  beforeAll(async () => {
    group = await RedisGroup.cluster({ hasReplica: true });
    redis = new Redis({ url: group.url, namespace, connectionName: 'gatepost-test' });
    await eventually(() => redis.ping(), START_MS);
  }, START_MS);
  afterAll(async () => {
    redis.close();
    await group.stop();
  });

  const add = (key: string, number = 1) => redis.run<number>(count, [key], [number]);
  const keysOf = async (place: number) => (await group.clients[place]!.keys(`${namespace}:*`)).length;
  /** Increments a new key on that server. @returns the name of the key */
  const newKeyOn = async (place: number): Promise<string> => {
    for (;;) {
      const key = unique('key');
      await add(key);
      if ((await group.clients[place]!.keys(`${namespace}:${key}`)).length === 1) return key;
    }
  };

  it('distributes keys over its nodes, also for scripts that the nodes do not know', async () => {
    const fresh = new RedisScript(`redis.call('SET', KEYS[1], '${unique('value')}') return KEYS[1]`);
    const keys = Array.from({ length: 100 }, () => unique('spread'));
    expect(await Promise.all(keys.map((key) => redis.run(fresh, [key], [])))).toEqual(
      keys.map((key) => `${namespace}:${key}`),
    );
    for (const place of [0, 1, 2]) expect(await keysOf(place)).toBeGreaterThan(10);
  });

  it('is ready as a whole, and describes each node', async () => {
    const [readiness, metrics, processInfo] = [new Readiness(), new Metrics(), new ProcessInfo()];
    const options = { url: '', namespace, connectionName: '', isRequired: true };
    new RedisModule(redis, options, readiness, metrics, processInfo);
    expect(await readiness.problems()).toEqual([]);
    expect(redis.isConnected).toBe(true);
    const names = group.addresses.map((address) => `redis ${address}`);
    const servers = await eventually(async () => {
      const found = await processInfo.servers();
      expect(found.map(({ name }) => name).sort()).toEqual(names.sort());
      return found;
    });
    const settings = { appendOnly: 'yes', maxmemoryPolicy: 'noeviction' };
    for (const server of servers) expect(server).toMatchObject({ problem: null, facts: { settings } });
    await group.clients[0]!.config('SET', 'maxmemory', 1);
    const [found, problems] = [await processInfo.servers(), await readiness.problems()];
    await group.clients[0]!.config('SET', 'maxmemory', 0);
    expect(found.map(({ facts }) => facts?.settings)).toContainEqual({ ...settings, memoryPercent: '100' });
    expect(problems).toEqual([]);
  });

  it.each([0, 1, 2])('is not ready while one of its masters refuses writes: %i', async (place) => {
    const requireReplicas = (number: number) => group.clients[place]!.config('SET', 'min-replicas-to-write', number);
    await requireReplicas(2);
    await expect(redis.ping()).rejects.toMatchObject(UNAVAILABLE);
    await requireReplicas(0);
    await redis.ping();
  });

  it('moves a slot to another node key by key, and no script finds only a part of its keys', async () => {
    const [from, to] = [group.clients[0]!, group.clients[1]!];
    const tag = await tagOn(from, namespace);
    const [base, other] = [`{${tag}}:base`, `{${tag}}:base:more`];
    const keys = [base, other, `{${tag}}:never`];
    expect(await redis.run<number>(countTwo, keys, [])).toBe(1);
    const slot = await from.cluster('KEYSLOT', `${namespace}:${base}`);
    const [fromId, toId] = [await from.cluster('MYID'), await to.cluster('MYID')];
    await to.cluster('SETSLOT', slot, 'IMPORTING', fromId);
    await from.cluster('SETSLOT', slot, 'MIGRATING', toId);
    await expect(redis.run(countTwo, keys, [])).rejects.toMatchObject(UNAVAILABLE);
    const { host, port, password } = to.options;
    await from.call('MIGRATE', host!, port!, '', 0, 5_000, 'AUTH', password!, 'KEYS', `${namespace}:${base}`);
    await expect(redis.run(countTwo, keys, [])).rejects.toMatchObject(UNAVAILABLE);
    await from.call('MIGRATE', host!, port!, '', 0, 5_000, 'AUTH', password!, 'KEYS', `${namespace}:${other}`);
    await expect(redis.run(countTwo, keys, [])).rejects.toMatchObject(UNAVAILABLE);
    for (const client of [to, from, group.clients[2]!]) await client.cluster('SETSLOT', slot, 'NODE', toId);
    await eventually(async () => {
      // A refused script has changed nothing.
      expect(await redis.run<number>(countTwo, keys, [])).toBeGreaterThan(1);
    });
    expect(await to.get(`${namespace}:${base}`)).toBe(await to.get(`${namespace}:${other}`));
    expect(await to.get(`${namespace}:${base}`)).toBe('2');
  });

  it('fails commands for a third of its keys when a master is killed, until its replica takes over', async () => {
    const keys = [await newKeyOn(0), await newKeyOn(1), await newKeyOn(2)];
    const memory = await redis.memory();
    expect(await redis.memory()).toBe(memory);
    await group.clients[0]!.wait(1, 5_000);
    const restart = group.crash(0);
    const startedAt = performance.now();
    await expect(eventually(() => failing(add(keys[0]!)))).resolves.toMatchObject(UNAVAILABLE);
    expect(redis.isConnected).toBe(false);
    await expect(redis.ping()).rejects.toMatchObject(UNAVAILABLE);
    // The other masters continue, and every failure is quick.
    expect([await add(keys[1]!), await add(keys[2]!)]).toEqual([2, 2]);
    for (let attempt = 0; attempt < 5; attempt += 1) {
      const askedAt = performance.now();
      await add(keys[0]!).catch(() => undefined);
      expect(performance.now() - askedAt).toBeLessThan(PATIENCE_MS);
    }
    await eventually(async () => {
      await redis.ping();
      expect(await add(keys[0]!, 0)).toBeGreaterThanOrEqual(1);
    }, 20_000);
    expect(performance.now() - startedAt).toBeLessThan(20_000);
    expect(redis.isConnected).toBe(true);
    expect(await redis.memory()).not.toBe(memory);
    // The old master returns as a replica.
    await restart();
    await group.untilWhole();
    await eventually(() => redis.ping());
    expect(await add(keys[0]!, 0)).toBeGreaterThanOrEqual(1);
  });

  it('without a replica waits for the node, and continues with its data', async () => {
    const key = await newKeyOn(2);
    const restart = group.crash(2);
    await eventually(() => failing(add(key)));
    await restart();
    await eventually(async () => {
      await redis.ping();
      expect(await add(key, 0)).toBeGreaterThanOrEqual(1);
    }, 20_000);
  });
});

/** @returns the error of the work. @throws Error where the work succeeds */
async function failing(work: Promise<unknown>): Promise<unknown> {
  const outcome = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (outcome === undefined) throw new Error('no failure yet');
  return outcome;
}

/** A hash tag whose slot is on the node. */
async function tagOn(node: RedisGroup['clients'][number], namespace: string): Promise<string> {
  for (let attempt = 0; ; attempt += 1) {
    const tag = `tag-${attempt}`;
    const isThere = await node.exists(`${namespace}:{${tag}}:base`).then(
      () => true,
      () => false,
    );
    if (isThere) return tag;
  }
}
