import { setTimeout as sleep } from 'node:timers/promises';
import { ConcurrencyLimiter } from '#bootstrap';
import { appError } from '#errors';

/** How many login attempts run at once, and how many wait. */
export interface LoginAttemptLimits {
  /** Attempts of one user that may run at once in this process; the others wait in order. */
  readonly concurrency: number;
  /** Attempts of this process that may wait, of all users together. */
  readonly maxWaiting: number;
  readonly maxWaitMs: number;
}

const FIRST_POLL_MS = 20;
const LONGEST_POLL_MS = 250;
const POLL_GROWTH = 1.5;

/**
 * Delays the login attempts of one user until those before them have a verdict. Attempts of this process wait in a queue; for those
 * of other processes the reservation is retried with growing pauses. An attempt that waits too long, or finds too many
 * waiting, fails with SERVICE_UNAVAILABLE.
 */
export class LoginAttemptLimiter {
  readonly #limiter: ConcurrencyLimiter;

  constructor(
    private readonly limits: LoginAttemptLimits,
    private readonly random: () => number = Math.random,
  ) {
    this.#limiter = new ConcurrencyLimiter(limits);
  }

  /** @param reserve reserves the attempt in the store; called until it returns true */
  async run<T>(key: string, reserve: () => Promise<boolean>, work: () => Promise<T>): Promise<T> {
    const deadlineMs = performance.now() + this.limits.maxWaitMs;
    const attempt = async () => {
      if (!(await reserve())) await this.#limiter.countWaiting(() => this.#reserved(reserve, deadlineMs));
      return work();
    };
    return this.#limiter.run(attempt, { key, deadlineMs });
  }

  async #reserved(reserve: () => Promise<boolean>, deadlineMs: number): Promise<void> {
    for (let pauseMs = FIRST_POLL_MS; ; pauseMs = Math.min(pauseMs * POLL_GROWTH, LONGEST_POLL_MS)) {
      const leftMs = deadlineMs - performance.now();
      if (leftMs <= 0) throw appError('SERVICE_UNAVAILABLE');
      await sleep(Math.min(pauseMs * (0.5 + this.random()), leftMs));
      if (await reserve()) return;
    }
  }
}
