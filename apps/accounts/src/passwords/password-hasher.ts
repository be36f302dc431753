import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import bcrypt from 'bcrypt';
import { type AppError, appError } from '#errors';
import { Metrics } from '#observability';
import { ACCOUNTS_CONFIG, type AccountsConfig } from '../accounts.config.js';
import { BoundedQueue } from './bounded-queue.js';
import { type HashingJob, HashingThread } from './hashing-thread.js';

/** Names how a stored hash was made, so that others can be told apart later. */
const SCHEME = 'bcrypt-sha256:';

/** Who has waited for so long, in milliseconds, is refused when its turn comes: nobody shall wait for five seconds in all. */
const MAX_WAIT_MS = 3_000;

/**
 * Hashes passwords: bcrypt of a SHA-256 digest, so that bytes beyond the 72nd and NUL bytes count. As many at once as
 * there are processors, the rest in a bounded queue; over the bound, and after three seconds, SERVICE_UNAVAILABLE.
 */
@Injectable()
export class PasswordHasher {
  readonly #queue: BoundedQueue;
  readonly #cost: number;
  readonly #idleThreads: HashingThread[] = [];
  readonly #dummyHash: Promise<string>;

  constructor(
    @Inject(ACCOUNTS_CONFIG) config: AccountsConfig,
    private readonly metrics: Metrics,
  ) {
    metrics.passwordQueue.set(0);
    this.#cost = config.passwordCost;
    this.#queue = new BoundedQueue(config.passwordConcurrency, config.passwordQueueLimit, (length) => {
      metrics.passwordQueue.set(length);
    });
    this.#dummyHash = this.hash('nobody has this password');
  }

  async hash(password: string): Promise<string> {
    return `${SCHEME}${await this.#limited({ text: digest(password), cost: this.#cost })}`;
  }

  async verify(password: string, stored: string): Promise<boolean> {
    if (!stored.startsWith(SCHEME)) throw new Error('the stored password has an unknown scheme');
    return (await this.#limited({ text: digest(password), hash: stored.slice(SCHEME.length) })) === true;
  }

  /** Takes as long as `verify`, for a user who does not exist or has no password: timing must not tell them apart. */
  async verifyNothing(password: string): Promise<false> {
    await this.verify(password, await this.#dummyHash);
    return false;
  }

  /** Whether a stored hash was made with other parameters than today's. */
  isOutdated(stored: string): boolean {
    return bcrypt.getRounds(stored.slice(SCHEME.length)) !== this.#cost;
  }

  async #limited(job: HashingJob): Promise<string | boolean> {
    const stop = this.metrics.passwords.startTimer();
    const queuedAt = performance.now();
    const turn = this.#queue.run(async () => {
      if (performance.now() - queuedAt > MAX_WAIT_MS) throw this.#refused();
      return this.#onThread(job);
    });
    if (turn === undefined) throw this.#refused();
    const result = await turn;
    stop();
    return result;
  }

  #refused(): AppError {
    this.metrics.passwordsRefused.inc();
    return appError('SERVICE_UNAVAILABLE', { retryAfterSeconds: 2 });
  }

  /** The queue lets in as many at once as there shall be threads; one that fails is not used again. */
  async #onThread(job: HashingJob): Promise<string | boolean> {
    const thread = this.#idleThreads.pop() ?? new HashingThread();
    try {
      const result = await thread.run(job);
      this.#idleThreads.push(thread);
      return result;
    } catch (error) {
      thread.end();
      throw error;
    }
  }
}

function digest(password: string): string {
  return createHash('sha256').update(password, 'utf8').digest('base64');
}
