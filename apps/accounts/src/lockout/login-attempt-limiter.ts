import { setTimeout as sleep } from 'node:timers/promises';
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

interface UserQueue {
  running: number;
  /** Starts a waiting attempt, first in, first out. */
  readonly waiting: Set<() => void>;
}

/**
 * Delays the login attempts of one user until those before them have a verdict. Attempts of this process wait in a queue; for those
 * of other processes the reservation is retried with growing pauses. An attempt that waits too long, or finds too many
 * waiting, fails with SERVICE_UNAVAILABLE.
 */
export class LoginAttemptLimiter {
  readonly #queues = new Map<string, UserQueue>();
  #waiting = 0;

  constructor(
    private readonly limits: LoginAttemptLimits,
    private readonly random: () => number = Math.random,
  ) {}

  /** @param reserve reserves the attempt in the store; called until it returns true */
  async run<T>(key: string, reserve: () => Promise<boolean>, work: () => Promise<T>): Promise<T> {
    const deadlineMs = performance.now() + this.limits.maxWaitMs;
    await this.#waitForTurn(key, deadlineMs);
    try {
      if (!(await reserve())) await this.#counted(() => this.#reserved(reserve, deadlineMs));
      return await work();
    } finally {
      this.#startNext(key);
    }
  }

  async #waitForTurn(key: string, deadlineMs: number): Promise<void> {
    const queue = this.#queues.get(key) ?? { running: 0, waiting: new Set() };
    this.#queues.set(key, queue);
    if (queue.running < this.limits.concurrency) queue.running += 1;
    else await this.#counted(() => nextTurn(queue, deadlineMs));
  }

  #startNext(key: string): void {
    const queue = this.#queues.get(key);
    if (queue === undefined) return;
    const [next] = queue.waiting;
    if (next !== undefined) {
      next();
      return;
    }
    queue.running -= 1;
    if (queue.running === 0) this.#queues.delete(key);
  }

  async #reserved(reserve: () => Promise<boolean>, deadlineMs: number): Promise<void> {
    for (let pauseMs = FIRST_POLL_MS; ; pauseMs = Math.min(pauseMs * POLL_GROWTH, LONGEST_POLL_MS)) {
      const leftMs = deadlineMs - performance.now();
      if (leftMs <= 0) throw appError('SERVICE_UNAVAILABLE');
      await sleep(Math.min(pauseMs * (0.5 + this.random()), leftMs));
      if (await reserve()) return;
    }
  }

  async #counted(wait: () => Promise<void>): Promise<void> {
    if (this.#waiting >= this.limits.maxWaiting) throw appError('SERVICE_UNAVAILABLE');
    this.#waiting += 1;
    try {
      await wait();
    } finally {
      this.#waiting -= 1;
    }
  }
}

/** Resolves when an earlier attempt of the user ends. */
function nextTurn({ waiting }: UserQueue, deadlineMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const go = () => {
      waiting.delete(go);
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(() => {
      waiting.delete(go);
      reject(appError('SERVICE_UNAVAILABLE'));
    }, deadlineMs - performance.now());
    waiting.add(go);
  });
}
