import { Inject, Injectable } from '@nestjs/common';
import type { RateLimit, RequestCounter } from '#admission';
import { Metrics } from '#observability';
import { RATE_LIMITS, type RateLimitGroup, type RateLimits } from './rate-limit.js';
import { REQUEST_COUNTER } from './request-counter.token.js';

/** Who is limited: one address towards one application. */
export interface LimitedClient {
  /** Empty where a request names none. */
  readonly appId: string;
  readonly network: string;
}

/** What a limit leaves to a client. */
export interface Allowance {
  readonly limit: number;
  readonly remaining: number;
  /** Until the limit begins anew. */
  readonly resetSeconds: number;
  readonly isExceeded: boolean;
}

/** Counts requests, and says when there are too many. */
@Injectable()
export class RateLimiter {
  constructor(
    @Inject(RATE_LIMITS) private readonly limits: RateLimits,
    @Inject(REQUEST_COUNTER) private readonly counter: RequestCounter,
    private readonly metrics: Metrics,
  ) {}

  /**
   * Counts a request in each of its groups that is limited, until one is exceeded.
   * @returns the allowance of the group that leaves least; undefined where none is limited
   */
  async count(groups: readonly RateLimitGroup[], client: LimitedClient): Promise<Allowance | undefined> {
    let least: Allowance | undefined;
    for (const group of groups) {
      const limit = this.limits[group];
      if (limit === undefined) continue;
      const allowance = await this.#countIn(group, limit, client);
      if (allowance.isExceeded) return allowance;
      if (least === undefined || allowance.remaining < least.remaining) least = allowance;
    }
    return least;
  }

  async #countIn(
    group: RateLimitGroup,
    { count: limit, windowSeconds }: RateLimit,
    { appId, network }: LimitedClient,
  ): Promise<Allowance> {
    // An application id has no spaces.
    const { count, resetMs } = await this.counter.count(`${group}:${appId} ${network}`, windowSeconds);
    const isExceeded = count > limit;
    if (isExceeded) this.metrics.rateLimited.inc({ group });
    return {
      limit,
      remaining: Math.max(0, limit - count),
      resetSeconds: Math.max(1, Math.ceil(resetMs / 1_000)),
      isExceeded,
    };
  }
}
