import { Inject, Injectable } from '@nestjs/common';
import type { Application } from '#contracts';
import { type AppError, appError } from '#errors';
import { Metrics } from '#observability';
import { ApplicationDirectory } from './application.directory.js';
import { MemoryRequestCounter, type RateLimit } from './request-counter.js';

/** The failures that a process accepts per network. */
export interface FailedCredentialLimitOptions {
  /** Undefined: no limit. */
  readonly limit: RateLimit | undefined;
}

export const FAILED_CREDENTIAL_LIMIT_OPTIONS = Symbol('FailedCredentialLimitOptions');

/** The limit of all networks together is this multiple of the limit of one network: it also bounds a client with very many addresses. */
const ALL_NETWORKS_FACTOR = 10;
/** The key of the count for all networks; it differs from every network. */
const ALL_NETWORKS = '*';

/**
 * Bounds the cost of requests with unverified credentials: this process counts failures by client network before any look-up. A network
 * over the limit can still use existing applications with their keys: the process then checks an unfamiliar id against the list of all ids,
 * whose cost does not depend on the id.
 */
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

  /**
   * Finds the application that a client names, before the client is authenticated.
   * @param network as returned by `clientNetworkOf`
   * @returns null where the application is unknown
   * @throws AppError TOO_MANY_REQUESTS; as `ApplicationDirectory.find`
   */
  async find(appId: string, network: string): Promise<Application | null> {
    if (!this.applications.isFamiliar(appId)) await this.#admit(appId, network);
    return this.applications.find(appId);
  }

  /**
   * Whether the application exists. A familiar application needs no RPC, so that the check works while accounts is unavailable.
   * @throws as `find`
   */
  async exists(appId: string, network: string): Promise<boolean> {
    return this.applications.isFamiliar(appId) || (await this.find(appId, network)) !== null;
  }

  /** Counts a request with a wrong key. @returns the error for the response: UNAUTHORIZED, or TOO_MANY_REQUESTS over the limit */
  refusal(network: string): AppError {
    const waitMs = this.#countFailure(network, 1);
    return waitMs === undefined ? appError('UNAUTHORIZED') : this.#tooMany(waitMs);
  }

  /**
   * Counts before the look-up, whose result is still open. An existing application is counted a few times at most, until it is familiar.
   */
  async #admit(appId: string, network: string): Promise<void> {
    const waitMs = this.#countFailure(network, 1) ?? this.#countFailure(ALL_NETWORKS, ALL_NETWORKS_FACTOR);
    if (waitMs !== undefined && !(await this.applications.isListed(appId))) throw this.#tooMany(waitMs);
  }

  /** @returns milliseconds until the count restarts, where the limit is exceeded */
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
