import type { RequestCount, RequestCounter } from '#admission';
import type { LimitedClient } from '#contracts';
import { isAppError } from '#errors';
import type { Metrics } from '#observability';
import { NOW, type Redis, RedisScript } from '#redis';
import { counterKeyOf, type LimitedClients, MAX_CLIENTS, type RefusedClient } from './request-limits.js';

const KEY_PREFIX = 'rate-limits';

const COUNT = new RedisScript(`
local count = redis.call('INCR', KEYS[1])
local left = redis.call('PTTL', KEYS[1])
if left < 0 then
  left = tonumber(ARGV[1])
  redis.call('PEXPIRE', KEYS[1], left)
end
return {count, left}
`);

export class RedisRequestCounter implements RequestCounter {
  constructor(private readonly redis: Redis) {}

  async count(key: string, windowSeconds: number): Promise<RequestCount> {
    const values = [windowSeconds * 1_000];
    const [count, resetMs] = await this.redis.run<[number, number]>(COUNT, [`${KEY_PREFIX}:${key}`], values);
    return { count, resetMs };
  }
}

/** Counts in the shared counter, and in this process while that is unavailable: a limit per process is better than no limit or no service. */
export class FallbackRequestCounter implements RequestCounter {
  constructor(
    private readonly shared: RequestCounter,
    private readonly own: RequestCounter,
    private readonly metrics: Metrics,
  ) {}

  async count(key: string, windowSeconds: number): Promise<RequestCount> {
    try {
      return await this.shared.count(key, windowSeconds);
    } catch (error) {
      if (!isAppError(error, 'SERVICE_UNAVAILABLE')) throw error;
      this.metrics.rateLimitFallbacks.inc();
      return this.own.count(key, windowSeconds);
    }
  }
}

const RECORD = new RedisScript(`${NOW}
local client, resetMs, max = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('ZADD', KEYS[1], now + resetMs, client)
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -max - 1)
redis.call('PEXPIRE', KEYS[1], math.max(resetMs, redis.call('PTTL', KEYS[1])))
`);

const LIST = new RedisScript(`${NOW}
return redis.call('ZREVRANGEBYSCORE', KEYS[1], '+inf', '(' .. now, 'WITHSCORES', 'LIMIT', 0, ARGV[1])
`);

const COUNT_OF = new RedisScript(`return tonumber(redis.call('GET', KEYS[1]) or 0)`);

export class RedisLimitedClients implements LimitedClients {
  constructor(private readonly redis: Redis) {}

  async record(appId: string, { group, network }: RefusedClient, resetMs: number): Promise<void> {
    await this.redis.run(RECORD, [listKeyOf(appId)], [`${group} ${network}`, resetMs, MAX_CLIENTS]);
  }

  async list(appId: string, limit: number): Promise<LimitedClient[]> {
    const found = await this.redis.run<string[]>(LIST, [listKeyOf(appId)], [limit]);
    const clients = Array.from({ length: found.length / 2 }, (_, index) => {
      const [group = '', network = ''] = found[index * 2]?.split(' ') ?? [];
      return { group, network, until: new Date(Number(found[index * 2 + 1])).toISOString() };
    });
    // The counters are on several nodes of a cluster.
    const counterOf = (client: RefusedClient) => `${KEY_PREFIX}:${counterKeyOf(appId, client)}`;
    return Promise.all(
      clients.map(async (client) => ({
        ...client,
        count: await this.redis.run<number>(COUNT_OF, [counterOf(client)], []),
      })),
    );
  }
}

function listKeyOf(appId: string): string {
  return `${KEY_PREFIX}:limited:${appId}`;
}
