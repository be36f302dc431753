import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import bcrypt from 'bcrypt';
import { Piscina } from 'piscina';
import { ConcurrencyLimiter } from '#bootstrap';
import { AppError, appError } from '#errors';
import { Metrics } from '#observability';
import { ACCOUNTS_CONFIG, type AccountsConfig } from '../accounts.config.js';

/** The scheme of a stored hash, so later schemes can be distinguished. */
const SCHEME = 'bcrypt-sha256:';

/** A job whose turn has not come by then is refused, so that no request takes five seconds in total. */
const MAX_WAIT_MS = 3_000;

/** In the sources and in the build alike: a thread cannot run TypeScript. */
const WORKER = fileURLToPath(new URL('./hashing.worker.mjs', import.meta.url));
const HEAP_LIMITS = { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 4 };

/** A password to hash or, with `hash`, to compare. */
export type HashingJob = { readonly text: string } & ({ readonly cost: number } | { readonly hash: string });

/**
 * Hashes passwords: bcrypt of a SHA-256 digest, so bytes beyond the 72nd and NUL bytes count. One job per processor runs at once, each on
 * a thread of low priority, so that hashing neither blocks the event loop nor occupies the libuv threads of files and DNS. The rest
 * waits in a bounded queue; a full queue and a wait of over three seconds throw SERVICE_UNAVAILABLE.
 */
@Injectable()
export class PasswordHasher implements OnApplicationShutdown {
  readonly #turns: ConcurrencyLimiter;
  readonly #threads: Piscina<HashingJob, string | boolean>;
  readonly #cost: number;
  readonly #dummyHash: string;
  #waiting = 0;

  constructor(
    @Inject(ACCOUNTS_CONFIG) config: AccountsConfig,
    private readonly metrics: Metrics,
  ) {
    metrics.passwordQueue.set(0);
    this.#cost = config.passwordCost;
    // A hash of no password: bcrypt compares with it in the usual time.
    this.#dummyHash = `${SCHEME}${bcrypt.genSaltSync(this.#cost)}${'.'.repeat(31)}`;
    this.#turns = new ConcurrencyLimiter({
      concurrency: config.passwordConcurrency,
      maxWaiting: config.passwordQueueLimit,
    });
    this.#threads = new Piscina({
      filename: WORKER,
      minThreads: 0,
      maxThreads: config.passwordConcurrency,
      idleTimeout: Infinity,
      // A thread that waits for work by a message, not by Atomics.wait, can be ended at any time.
      atomics: 'disabled',
      resourceLimits: HEAP_LIMITS,
    });
  }

  async hash(password: string): Promise<string> {
    return `${SCHEME}${await this.#limited({ text: digest(password), cost: this.#cost })}`;
  }

  async verify(password: string, stored: string): Promise<boolean> {
    if (!stored.startsWith(SCHEME)) throw new Error('the stored password has an unknown scheme');
    return (await this.#limited({ text: digest(password), hash: stored.slice(SCHEME.length) })) === true;
  }

  /** Takes as long as `verify`, for a user who does not exist or has no password, so timing does not reveal them. */
  async verifyNothing(password: string): Promise<false> {
    await this.verify(password, this.#dummyHash);
    return false;
  }

  /** Whether a stored hash has another cost than the configured one. */
  isOutdated(stored: string): boolean {
    return bcrypt.getRounds(stored.slice(SCHEME.length)) !== this.#cost;
  }

  onApplicationShutdown(): Promise<void> {
    return this.#threads.destroy();
  }

  async #limited(job: HashingJob): Promise<string | boolean> {
    const stop = this.metrics.passwords.startTimer();
    const start = () => {
      this.#countWaiting(-1);
      return this.#threads.run(job);
    };
    this.#countWaiting(1);
    try {
      const result = await this.#turns.run(start, { deadlineMs: performance.now() + MAX_WAIT_MS });
      stop();
      return result;
    } catch (error) {
      // Threads know no such error: the turn was refused.
      if (!(error instanceof AppError)) throw error;
      this.#countWaiting(-1);
      this.metrics.passwordsRefused.inc();
      throw appError('SERVICE_UNAVAILABLE', { retryAfterSeconds: 2, cause: error });
    }
  }

  #countWaiting(change: 1 | -1): void {
    this.#waiting += change;
    this.metrics.passwordQueue.set(this.#waiting);
  }
}

function digest(password: string): string {
  return createHash('sha256').update(password, 'utf8').digest('base64');
}
