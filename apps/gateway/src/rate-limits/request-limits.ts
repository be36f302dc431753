import { Inject, Injectable } from '@nestjs/common';
import { type NestFastifyApplication, RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { clientNetworkOf, type RateLimit, type RequestCounter } from '#admission';
import { appError } from '#errors';
import { Metrics } from '#observability';
import { OVERRIDE_PATH } from '../http/method-override.js';

/** Kinds of requests that are limited together. `requests` is all of them; the others are named at routes. */
type RateLimitGroup = 'requests' | 'logins' | 'signUps' | 'messages';

/** What one address may send to one application; `undefined` is no limit. */
export type RateLimits = Readonly<Record<RateLimitGroup, RateLimit | undefined>>;

/** DI token of `RateLimits`. */
export const RATE_LIMITS = Symbol('RateLimits');

/** DI token of the process's `RequestCounter`. */
export const REQUEST_COUNTER = Symbol('RequestCounter');

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The groups, besides `requests`, in which a request of the route counts. */
    rateLimitGroups?: readonly RateLimitGroup[];
  }
}

/**
 * Names the groups in which a request of the route counts. Every request with credentials counts in `requests` besides; one
 * of a route that asks for none only where this stands there, even without a group.
 */
export function RateLimited(...rateLimitGroups: Exclude<RateLimitGroup, 'requests'>[]): MethodDecorator {
  return RouteConfig({ rateLimitGroups });
}

/** One address towards one application. */
interface LimitedClient {
  /** Empty where a request names none. */
  readonly appId: string;
  readonly network: string;
}

/** What a limit leaves to a client. */
interface Allowance {
  readonly limit: number;
  readonly remaining: number;
  /** Until the limit begins anew. */
  readonly resetSeconds: number;
  readonly isExceeded: boolean;
}

/** Counts what clients send, tells them what is left, and refuses what is too much. */
@Injectable()
export class RequestLimits {
  constructor(
    @Inject(RATE_LIMITS) private readonly limits: RateLimits,
    @Inject(REQUEST_COUNTER) private readonly counter: RequestCounter,
    private readonly metrics: Metrics,
  ) {}

  /**
   * Counts a request, or a part of one, in `requests` and in the given groups. One that names no application counts only where
   * its route names groups, and for all applications together.
   * @throws AppError TOO_MANY_REQUESTS
   */
  async count(
    { caller, clientAddress }: FastifyRequest,
    reply: FastifyReply,
    groups?: readonly RateLimitGroup[],
  ): Promise<void> {
    // Servers with the master key act for many people from one address.
    if (caller === undefined ? groups === undefined : caller.isMaster) return;
    const client = { appId: caller?.appId ?? '', network: clientNetworkOf(clientAddress) };
    const allowance = await this.#countInAll(['requests', ...(groups ?? [])], client);
    if (allowance === undefined) return;
    tell(reply, allowance);
    if (allowance.isExceeded) throw appError('TOO_MANY_REQUESTS', { retryAfterSeconds: allowance.resetSeconds });
  }

  /**
   * Counts a request in each of its groups that is limited, until one is exceeded.
   * @returns the allowance of the group that leaves least; undefined where none is limited
   */
  async #countInAll(groups: readonly RateLimitGroup[], client: LimitedClient): Promise<Allowance | undefined> {
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

/**
 * Limits requests between their credentials and their body. The matched route says in which groups one counts, so that
 * escaped URLs, method override and batches lead round nothing.
 */
export function addRateLimits(app: NestFastifyApplication): void {
  const limits = app.get(RequestLimits);
  app
    .getHttpAdapter()
    .getInstance()
    .addHook('onRequest', async (request, reply) => {
      const { url, config } = request.routeOptions;
      // An overridden request counts as the one that it stands for, when that comes by.
      if (url !== OVERRIDE_PATH) await limits.count(request, reply, config.rateLimitGroups);
    });
}

/** The headers of draft-ietf-httpapi-ratelimit-headers, in the form that they had up to its version 06. */
function tell(reply: FastifyReply, { limit, remaining, resetSeconds }: Allowance): void {
  void reply.headers({
    'ratelimit-limit': String(limit),
    'ratelimit-remaining': String(remaining),
    'ratelimit-reset': String(resetSeconds),
  });
}
