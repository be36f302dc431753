import { Inject, Injectable } from '@nestjs/common';
import type { Application } from '#contracts';
import { type AppError, appError } from '#errors';
import { Metrics } from '#observability';
import { ApplicationDirectory } from './application.directory.js';
import { MemoryRequestCounter, type RateLimit } from './request-counter.js';

/** How many failures of one network a process takes. */
export interface StrangerLimitOptions {
  /** Undefined: any number. */
  readonly limit: RateLimit | undefined;
}

/** DI token of `StrangerLimitOptions`. */
export const STRANGER_LIMIT_OPTIONS = Symbol('StrangerLimitOptions');

/** All networks together may fail so many times as often as one: a client with very many addresses is bounded, too. */
const NETWORKS = 10;
/** Stands for all networks; no network is called so. */
const ALL_NETWORKS = '*';

/**
 * Bounds what requests cost whose credentials are not known to be good: failures are counted by client network, in this process, before
 * anything is looked up. A network that is over the limit can go on using applications that exist, with their keys: an id that
 * this process has not met is then looked for in a list of all ids, which costs the same whatever is asked for.
 */
@Injectable()
export class StrangerLimit {
  readonly #limit: RateLimit | undefined;
  readonly #failures = new MemoryRequestCounter();

  constructor(
    private readonly applications: ApplicationDirectory,
    @Inject(STRANGER_LIMIT_OPTIONS) { limit }: StrangerLimitOptions,
    private readonly metrics: Metrics,
  ) {
    this.#limit = limit;
  }

  /**
   * The application that a client names, before anything else is known of the client.
   * @param network as `clientNetworkOf` says
   * @returns null where there is none
   * @throws AppError TOO_MANY_REQUESTS; as `ApplicationDirectory.find`
   */
  async find(appId: string, network: string): Promise<Application | null> {
    if (!this.applications.isFamiliar(appId)) await this.#admit(appId, network);
    return this.applications.find(appId);
  }

  /** Whether there is such an application. One that was there is not asked for again, so that this is known while accounts is away. @throws as `find` */
  async exists(appId: string, network: string): Promise<boolean> {
    return this.applications.isFamiliar(appId) || (await this.find(appId, network)) !== null;
  }

  /** Counts a request whose key is wrong. @returns what it is answered: UNAUTHORIZED, or TOO_MANY_REQUESTS over the limit */
  refusal(network: string): AppError {
    const waitMs = this.#countFailure(network, 1);
    return waitMs === undefined ? appError('UNAUTHORIZED') : this.#tooMany(waitMs);
  }

  /** Counts before the look-up, whose outcome is not known yet: of an application that exists, few requests count until it is familiar. */
  async #admit(appId: string, network: string): Promise<void> {
    const waitMs = this.#countFailure(network, 1) ?? this.#countFailure(ALL_NETWORKS, NETWORKS);
    if (waitMs !== undefined && !(await this.applications.isListed(appId))) throw this.#tooMany(waitMs);
  }

  /** @returns where there are too many: how long until they are counted anew, in milliseconds */
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
