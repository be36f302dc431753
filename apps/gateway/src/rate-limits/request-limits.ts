import { Controller, Inject, Injectable } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { clientNetworkOf, type MemoryRequestCounter, type RateLimit, type RequestCounter } from '#admission';
import { Clock } from '#bootstrap';
import { gatewayRpc, type LimitedClient, type RpcData, type RpcReply } from '#contracts';
import { appError, isAppError } from '#errors';
import { RpcHandler } from '#messaging';
import { Metrics } from '#observability';

type Listing = typeof gatewayRpc.listLimitedClients;
export type RefusedClient = Pick<LimitedClient, 'group' | 'network'>;

export const LIMITED_CLIENTS = Symbol('LimitedClients');

/** Beyond this number of clients of one application, those whose windows end first are dropped. */
export const MAX_CLIENTS = 1_000;

/** The clients whose requests are refused now. They are for operators to read; no decision depends on them. */
export interface LimitedClients {
  /** Records a client at the first refusal of a window. @param resetMs until the window ends */
  record(appId: string, client: RefusedClient, resetMs: number): Promise<void>;
  /** The latest windows first. @throws AppError SERVICE_UNAVAILABLE */
  list(appId: string, limit: number): Promise<LimitedClient[]>;
}

export class MemoryLimitedClients implements LimitedClients {
  readonly #byApplication = new Map<string, LRUCache<string, RefusedClient>>();

  constructor(
    private readonly counter: MemoryRequestCounter,
    private readonly clock: Clock,
  ) {}

  record(appId: string, client: RefusedClient, resetMs: number): Promise<void> {
    const clients = this.#byApplication.get(appId) ?? new LRUCache({ max: MAX_CLIENTS });
    clients.set(counterKeyOf(appId, client), client, { ttl: resetMs });
    this.#byApplication.set(appId, clients);
    return Promise.resolve();
  }

  list(appId: string, limit: number): Promise<LimitedClient[]> {
    const now = this.clock.now().getTime();
    const clients = this.#byApplication.get(appId);
    const recorded = [...(clients?.entries() ?? [])].map(([key, client]) => ({
      ...client,
      count: this.counter.countOf(key),
      until: new Date(now + (clients?.getRemainingTTL(key) ?? 0)).toISOString(),
    }));
    return Promise.resolve(recorded.sort((one, other) => (one.until < other.until ? 1 : -1)).slice(0, limit));
  }
}

@Controller()
export class LimitedClientsController {
  constructor(@Inject(LIMITED_CLIENTS) private readonly clients: LimitedClients) {}

  @RpcHandler(gatewayRpc.listLimitedClients)
  async list({ appId, limit }: RpcData<Listing>): Promise<RpcReply<Listing>> {
    return { clients: await this.clients.list(appId, limit) };
  }
}

/** Groups of requests with a common limit. `requests` contains every request; routes name the other groups. */
type RateLimitGroup = 'requests' | 'logins' | 'signUps' | 'messages';

/** The limits of one address towards one application; `undefined` means no limit. */
export type RateLimits = Readonly<Record<RateLimitGroup, RateLimit | undefined>>;

export const RATE_LIMITS = Symbol('RateLimits');

export const REQUEST_COUNTER = Symbol('RequestCounter');

type GroupsOfBody = (body: unknown) => readonly RateLimitGroup[];

declare module 'fastify' {
  interface FastifyContextConfig {
    rateLimitGroups?: readonly RateLimitGroup[];
    rateLimitGroupsOf?: GroupsOfBody;
  }
}

/** Further groups, beside `requests`. A request of a route without credentials counts only if the route has this decorator. */
export function RateLimited(...rateLimitGroups: Exclude<RateLimitGroup, 'requests'>[]): MethodDecorator {
  return RouteConfig({ rateLimitGroups });
}

/** Names the groups in which a request of the route counts because of its body. The request counts once the body is read. */
export function RateLimitedByBody(rateLimitGroupsOf: GroupsOfBody): MethodDecorator {
  return RouteConfig({ rateLimitGroupsOf });
}

interface CountedClient {
  /** Empty for a request without credentials. */
  readonly appId: string;
  readonly network: string;
}

interface Allowance {
  readonly limit: number;
  readonly remaining: number;
  readonly resetSeconds: number;
  readonly isExceeded: boolean;
}

/** Counts the requests of clients, reports the rest of their limits in headers, and rejects requests over a limit. */
@Injectable()
export class RequestLimits {
  constructor(
    @Inject(RATE_LIMITS) private readonly limits: RateLimits,
    @Inject(REQUEST_COUNTER) private readonly counter: RequestCounter,
    @Inject(LIMITED_CLIENTS) private readonly limited: LimitedClients,
    private readonly metrics: Metrics,
  ) {}

  /** Without an application, only where the route names groups, and for all applications together. @throws AppError TOO_MANY_REQUESTS */
  async count(request: FastifyRequest, reply: FastifyReply, groups?: readonly RateLimitGroup[]): Promise<void> {
    if (request.caller === undefined && groups === undefined) return;
    await this.countFurther(request, reply, ['requests', ...(groups ?? [])]);
  }

  /** After `count`. @throws AppError TOO_MANY_REQUESTS */
  async countFurther(
    { caller, clientAddress }: FastifyRequest,
    reply: FastifyReply,
    groups: readonly RateLimitGroup[],
  ): Promise<void> {
    // A server with the master key sends the requests of many users from one address.
    if (caller?.isMaster === true) return;
    const client = { appId: caller?.appId ?? '', network: clientNetworkOf(clientAddress) };
    const allowance = await this.#countInAll(groups, client);
    if (allowance === undefined) return;
    setRateLimitHeaders(reply, allowance);
    if (allowance.isExceeded) throw appError('TOO_MANY_REQUESTS', { retryAfterSeconds: allowance.resetSeconds });
  }

  /** Counts each part like a request of its own. @param parts their groups @throws AppError TOO_MANY_REQUESTS */
  async countEach(
    request: FastifyRequest,
    reply: FastifyReply,
    parts: readonly (readonly RateLimitGroup[])[],
  ): Promise<void> {
    for (const groups of parts) await this.count(request, reply, groups);
  }

  /** Until one is exceeded. @returns the allowance with the fewest requests left; undefined where no group is limited */
  async #countInAll(groups: readonly RateLimitGroup[], client: CountedClient): Promise<Allowance | undefined> {
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
    { appId, network }: CountedClient,
  ): Promise<Allowance> {
    const client = { group, network };
    const { count, resetMs } = await this.counter.count(counterKeyOf(appId, client), windowSeconds);
    const isExceeded = count > limit;
    if (isExceeded) this.metrics.rateLimited.inc({ group });
    if (count === limit + 1 && appId !== '') await this.#record(appId, client, resetMs);
    return {
      limit,
      remaining: Math.max(0, limit - count),
      resetSeconds: Math.max(1, Math.ceil(resetMs / 1_000)),
      isExceeded,
    };
  }

  /** Without Redis, operators do not see the client; the limit holds all the same. */
  async #record(appId: string, client: Parameters<LimitedClients['record']>[1], resetMs: number): Promise<void> {
    await this.limited.record(appId, client, resetMs).catch((error: unknown) => {
      if (!isAppError(error, 'SERVICE_UNAVAILABLE')) throw error;
    });
  }
}

/** The headers of draft-ietf-httpapi-ratelimit-headers, as of its version 06. They report the limit with the fewest requests left. */
function setRateLimitHeaders(reply: FastifyReply, { limit, remaining, resetSeconds }: Allowance): void {
  const reported = reply.getHeader('ratelimit-remaining');
  if (reported !== undefined && Number(reported) < remaining) return;
  void reply.headers({
    'ratelimit-limit': String(limit),
    'ratelimit-remaining': String(remaining),
    'ratelimit-reset': String(resetSeconds),
  });
}

/** The key of a client's counter. An application id has no spaces. */
export function counterKeyOf(appId: string, { group, network }: RefusedClient): string {
  return `${group}:${appId} ${network}`;
}
