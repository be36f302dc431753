import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Application } from '#contracts';
import { type AppError, appError } from '#errors';
import { Metrics } from '#observability';
import { ApplicationDirectory } from './request-origin.js';

/** Maximum number of requests within a window. A window starts with its first request. */
export interface RateLimit {
  readonly count: number;
  readonly windowSeconds: number;
}

/** Parses `off` or `<count>/<seconds>`; the schema of the environment has validated the form. */
export function parseRateLimit(text: string): RateLimit | undefined {
  if (text === 'off') return undefined;
  const [count = 0, windowSeconds = 0] = text.split('/').map(Number);
  return { count, windowSeconds };
}

export interface RequestCount {
  /** Requests of the window, this one included. */
  readonly count: number;
  readonly resetMs: number;
}

export interface RequestCounter {
  count(key: string, windowSeconds: number): Promise<RequestCount>;
}

/** Beyond this number the least recently used key is dropped. The counter needs at most about 10 MB. */
const MAX_KEYS = 50_000;

/** Counts in this process only, in bounded memory. */
export class MemoryRequestCounter implements RequestCounter {
  readonly #windows: LRUCache<string, { count: number; endsAt: number }>;

  constructor(maxKeys = MAX_KEYS) {
    this.#windows = new LRUCache({ max: maxKeys });
  }

  count(key: string, windowSeconds: number): Promise<RequestCount> {
    return Promise.resolve(this.countNow(key, windowSeconds));
  }

  countNow(key: string, windowSeconds: number): RequestCount {
    const now = performance.now();
    const last = this.#windows.get(key);
    const window = last !== undefined && last.endsAt > now ? last : { count: 0, endsAt: now + windowSeconds * 1_000 };
    window.count += 1;
    this.#windows.set(key, window);
    // LRUCache treats a ttl of 0 as endless.
    return { count: window.count, resetMs: Math.max(1, Math.round(window.endsAt - now)) };
  }

  countOf(key: string): number {
    const window = this.#windows.peek(key);
    return window !== undefined && window.endsAt > performance.now() ? window.count : 0;
  }
}

export interface FailedCredentialLimitOptions {
  readonly limit: RateLimit | undefined;
}

export const FAILED_CREDENTIAL_LIMIT_OPTIONS = Symbol('FailedCredentialLimitOptions');

/** The limit of all networks together is this multiple of the limit of one network: it also bounds a client with very many addresses. */
const ALL_NETWORKS_FACTOR = 10;
const ALL_NETWORKS = '*';

/** Bounds the cost of unverified credentials: failures count by client network before a look-up. Over the limit, only listed ids pass. */
@Injectable()
export class FailedCredentialLimit {
  readonly #limit: RateLimit | undefined;
  readonly #failures = new MemoryRequestCounter();

  constructor(
    private readonly applications: ApplicationDirectory,
    @Inject(FAILED_CREDENTIAL_LIMIT_OPTIONS) { limit }: FailedCredentialLimitOptions,
    private readonly metrics: Metrics,
  ) {
    this.#limit = limit;
  }

  /** Null where the application is unknown. @param network as returned by `clientNetworkOf` */
  async find(appId: string, network: string): Promise<Application | null> {
    if (!this.applications.isFamiliar(appId)) await this.#admit(appId, network);
    return this.applications.find(appId);
  }

  /** A familiar application needs no RPC, so that the check works while accounts is unavailable. @throws as `find` */
  async exists(appId: string, network: string): Promise<boolean> {
    return this.applications.isFamiliar(appId) || (await this.find(appId, network)) !== null;
  }

  /** Counts a request with a wrong key. @returns the error for the response: UNAUTHORIZED, or TOO_MANY_REQUESTS over the limit */
  refusal(network: string): AppError {
    const waitMs = this.#countFailure(network, 1);
    return waitMs === undefined ? appError('UNAUTHORIZED') : this.#tooMany(waitMs);
  }

  /** Counts before the look-up, whose result is open: an existing application is counted a few times at most, until it is familiar. */
  async #admit(appId: string, network: string): Promise<void> {
    const waitMs = this.#countFailure(network, 1) ?? this.#countFailure(ALL_NETWORKS, ALL_NETWORKS_FACTOR);
    if (waitMs !== undefined && !(await this.applications.isListed(appId))) throw this.#tooMany(waitMs);
  }

  #countFailure(key: string, times: number): number | undefined {
    if (this.#limit === undefined) return undefined;
    const { count, resetMs } = this.#failures.countNow(key, this.#limit.windowSeconds);
    return count > this.#limit.count * times ? resetMs : undefined;
  }

  #tooMany(waitMs: number): AppError {
    this.metrics.rateLimited.inc({ group: 'failedCredentials' });
    return appError('TOO_MANY_REQUESTS', {
      message: 'Too many requests with a wrong application id or key came from this network. Check both, or wait.',
      retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)),
    });
  }
}
