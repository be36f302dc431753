import { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { reasonOf } from '#errors';
import { Metrics, ProcessInfo, Readiness } from '#observability';
import { eventually, newNamespace, TcpProxy, testRun, unique } from '#testing';
import { Redis, RedisModule, RedisScript } from '../src/redis.js';

const UNAVAILABLE = { errorName: 'SERVICE_UNAVAILABLE', status: 503 };
/** The documented limit: callers respond within a second. */
const RESPONSE_LIMIT_MS = 1_000;

const count = new RedisScript("return redis.call('INCRBY', KEYS[1], ARGV[1])");
/** Its reply arrives some turns of the event loop after the command. */
const countSlowly = new RedisScript(
  "local sum = 0 for number = 1, 5000000 do sum = sum + number end return redis.call('INCRBY', KEYS[1], ARGV[1])",
);
const nameOfKey = new RedisScript('return KEYS[1]');

/** A script that fails as one of Redis 5 and 6 whose command is refused. */
const inOldText = (refusal: string) => {
  const text = `ERR Error running script (call to f_${'0'.repeat(40)}): @user_script:41: @user_script: 41: ${refusal}`;
  return new RedisScript(`return redis.error_reply(${JSON.stringify(text)})`);
};

/** The error as a log shows it. */
const serialized = (error: unknown) => JSON.stringify(pino.stdSerializers.err(error as Error));

describe('a connection to Redis', () => {
  const namespace = newNamespace();
  let proxy: TcpProxy;
  let redis: Redis;
  let key: string;

  const open = () => new Redis({ url: proxy.urlFor(testRun().redisUrl), namespace, connectionName: 'gatepost-test' });
  const add = (number: number) => redis.run<number>(count, [key], [number]);
  const untilConnected = () => eventually(() => redis.ping());
  const timed = async (work: Promise<unknown>) => {
    const startedAt = performance.now();
    await expect(work).rejects.toMatchObject(UNAVAILABLE);
    return performance.now() - startedAt;
  };

  beforeEach(async () => {
    key = unique('counter');
    proxy = await TcpProxy.to(new URL(testRun().redisUrl), 6379);
    redis = open();
    await untilConnected();
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    redis.close();
    await proxy.close();
  });

  it('runs scripts, including those that Redis does not know yet', async () => {
    const fresh = new RedisScript(`return '${unique('fresh')}' .. ARGV[1]`);
    expect(await redis.run(fresh, [], ['!'])).toMatch(/^fresh-.*!$/);
    expect([await add(2), await add(3)]).toEqual([2, 5]);
  });

  it('prepends the namespace to every key', async () => {
    expect(await redis.run(nameOfKey, [key], [])).toBe(`${namespace}:${key}`);
  });

  it('distinguishes a programming error from an unavailable server', async () => {
    const wrong = redis.run(new RedisScript("return redis.call('NOSUCH')"), [], []);
    await expect(wrong).rejects.toMatchObject({ name: 'ReplyError' });
    const full = new RedisScript("return redis.error_reply('OOM command not allowed when used memory > maxmemory')");
    await expect(redis.run(full, [], [])).rejects.toMatchObject(UNAVAILABLE);
  });

  it.each(['OOM', 'READONLY', 'MISCONF', 'NOREPLICAS'])('recognises %s in the text of Redis 5 and 6', async (code) => {
    const refusal = inOldText(`-${code} refused.`);
    await expect(redis.run(refusal, [], [])).rejects.toMatchObject(UNAVAILABLE);
  });

  it('leaves programming errors in the text of Redis 5 and 6 as they are', async () => {
    const wrong = redis.run(inOldText('WRONGTYPE not READONLY'), [], []);
    await expect(wrong).rejects.toMatchObject({ name: 'ReplyError' });
  });

  it('reconnects after a script was refused by a replica of Redis 5 or 6', async () => {
    await expect(redis.run(inOldText('-READONLY refused.'), [], [])).rejects.toMatchObject(UNAVAILABLE);
    await untilConnected();
    expect(proxy.connections).toBe(2);
  });

  it('keeps the arguments of a command out of its error', async () => {
    const failure = await redis.run(new RedisScript("return redis.call('NOSUCH')"), [key], ['token']).catch(serialized);
    expect(failure).toMatch(/NOSUCH|[Uu]nknown/);
    expect(failure).not.toMatch(/token|counter/);
  });

  it('fails at once while Redis is unavailable, and recovers without a restart', async () => {
    await add(1);
    proxy.takeAway();
    expect(await timed(add(1))).toBeLessThan(RESPONSE_LIMIT_MS);
    for (let attempt = 0; attempt < 10; attempt += 1) expect(await timed(add(1))).toBeLessThan(RESPONSE_LIMIT_MS / 10);
    proxy.bringBack();
    await untilConnected();
    expect(await add(1)).toBe(2);
  });

  it('fails within a second where Redis is silent, and recovers without a restart', async () => {
    proxy.silence();
    const durations = await Promise.all(Array.from({ length: 20 }, () => timed(add(1))));
    expect(Math.max(...durations)).toBeLessThan(RESPONSE_LIMIT_MS);
    // The silent connection was replaced, so that no later command waits for it.
    expect(await timed(add(1))).toBeLessThan(RESPONSE_LIMIT_MS / 2);
    proxy.bringBack();
    await untilConnected();
    expect(await add(0)).toBeLessThanOrEqual(20);
  });

  it('keeps a connection on which an earlier command got its reply meanwhile', async () => {
    proxy.holdReplies();
    const first = add(1);
    await eventually(() => {
      expect(proxy.heldBytes).toBeGreaterThan(0);
    });
    const second = timed(add(1));
    await nextTurn();
    proxy.passHeldReplies();
    expect([await first, await second]).toEqual([1, expect.any(Number)]);
    proxy.bringBack();
    expect([await add(1), proxy.connections]).toEqual([3, 1]);
  });

  it('sends the commands of one turn of the event loop by one write', async () => {
    const direct = new Redis({ url: testRun().redisUrl, namespace, connectionName: 'gatepost-test' });
    await eventually(() => direct.run(count, [key], [0]));
    const single = vi.spyOn(Socket.prototype, '_write');
    const shared = vi.spyOn(Socket.prototype, '_writev');
    await Promise.all(Array.from({ length: 50 }, () => direct.run(count, [key], [1])));
    expect([single.mock.calls.length, shared.mock.calls.length]).toEqual([0, 1]);
    expect(await direct.run(count, [key], [0])).toBe(50);
    direct.close();
  });

  it.each([
    ['whose replies arrive', count, nextTurn],
    ['that could not send a command', countSlowly, () => undefined],
  ])('keeps a connection %s while the process is busy', async (_, script, pass) => {
    // Without the proxy, which is in this process, too.
    const direct = new Redis({ url: testRun().redisUrl, namespace, connectionName: 'gatepost-test' });
    await eventually(() => direct.ping());
    await direct.run(script, [key], [0]);
    const late = timed(direct.run(script, [key], [1]));
    await pass();
    const endAt = performance.now() + RESPONSE_LIMIT_MS;
    while (performance.now() < endAt);
    await late;
    expect(await direct.run(count, [key], [1])).toBe(2);
    direct.close();
  });

  it('starts while Redis is unavailable', async () => {
    proxy.takeAway();
    const early = open();
    await expect(early.ping()).rejects.toMatchObject(UNAVAILABLE);
    proxy.bringBack();
    await eventually(() => early.ping());
    early.close();
  });

  it('logs an outage once, and its end', async () => {
    const [warn, log] = [vi.spyOn(Logger.prototype, 'warn'), vi.spyOn(Logger.prototype, 'log')];
    proxy.takeAway();
    await timed(add(1));
    // Long enough for several connection attempts.
    await new Promise((resolve) => setTimeout(resolve, 500));
    proxy.bringBack();
    await untilConnected();
    expect(warn.mock.calls).toEqual([[expect.stringMatching(/^not connected: /)]]);
    expect(log.mock.calls).toEqual([['connected again']]);
  });

  it.each([
    ['database', ({ host }: URL) => `redis://${host}/99999`, /^not connected: .*DB index is out of range/],
    ['Sentinel', ({ host }: URL) => `redis+sentinel://${host}/main`, /^not connected: All sentinels are unreachable/],
    ['host name', () => 'redis://of.invalid', /^not connected: getaddrinfo .*of\.invalid/],
  ])('fails where there is no such %s, and says so', async (_, urlOf, reason) => {
    const warn = vi.spyOn(Logger.prototype, 'warn');
    const url = urlOf(new URL(testRun().redisUrl));
    const other = new Redis({ url, namespace, connectionName: 'gatepost-test' });
    const failure = async () => reasonOf(await other.ping().catch((error: unknown) => error)).replace('Redis: ', '');
    await eventually(async () => {
      expect(await failure()).toMatch(reason);
      expect(warn.mock.calls).toEqual([[expect.stringMatching(reason)]]);
    });
    other.close();
  });

  it('logs nothing when it is closed', async () => {
    const warn = vi.spyOn(Logger.prototype, 'warn');
    redis.close();
    await expect(redis.ping()).rejects.toMatchObject(UNAVAILABLE);
    expect(warn).not.toHaveBeenCalled();
  });

  it.each([
    [true, [expect.stringMatching(/^redis: /)]],
    [false, []],
  ])('makes a process unready while it is unavailable: %s', async (isRequired, problems) => {
    const readiness = new Readiness();
    const options = { url: '', namespace, connectionName: '', isRequired };
    const module = new RedisModule(redis, options, readiness, new Metrics(), new ProcessInfo());
    expect(await readiness.problems()).toEqual([]);
    proxy.takeAway();
    expect(await readiness.problems()).toEqual(problems);
    module.onApplicationShutdown();
  });
});
