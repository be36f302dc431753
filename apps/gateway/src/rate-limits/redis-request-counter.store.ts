import type { RequestCount, RequestCounter } from '#admission';
import { AppError } from '#errors';
import type { Metrics } from '#observability';
import { type Redis, RedisScript } from '#redis';

/** Of all keys about limits of requests. */
export const KEY_PREFIX = 'rate-limits';

const COUNT = new RedisScript(`
local count = redis.call('INCR', KEYS[1])
local left = redis.call('PTTL', KEYS[1])
if left < 0 then
  left = tonumber(ARGV[1])
  redis.call('PEXPIRE', KEYS[1], left)
end
return {count, left}
`);

/** Counts requests for all gateways together. */
export class RedisRequestCounter implements RequestCounter {
  constructor(private readonly redis: Redis) {}

  /** @throws AppError SERVICE_UNAVAILABLE where Redis is unavailable */
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
      if (!(error instanceof AppError && error.is('SERVICE_UNAVAILABLE'))) throw error;
      this.metrics.rateLimitFallbacks.inc();
      return this.own.count(key, windowSeconds);
    }
  }
}
