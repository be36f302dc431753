import { setTimeout as sleep } from 'node:timers/promises';
import { appError } from '#errors';

/** How attempts wait for each other. */
export interface LineLimits {
  /** How many attempts of one line may be under way in this process; the others stand behind them, in order. */
  readonly places: number;
  /** Attempts of this process that may wait, in all lines together. */
  readonly maxWaiting: number;
  readonly maxWaitMs: number;
}

const FIRST_POLL_MS = 20;
const LONGEST_POLL_MS = 250;
const POLL_GROWTH = 1.5;

interface Line {
  underWay: number;
  /** Lets go who waits, first come first. */
  readonly waiting: Set<() => void>;
}

/**
 * Lets attempts of one user wait until those before them are judged: behind those of this process in order, beside those of
 * other processes by asking again after growing pauses. Whoever waits too long, or finds too many waiting, gets
 * SERVICE_UNAVAILABLE.
 */
export class AttemptLines {
  readonly #lines = new Map<string, Line>();
  #waiting = 0;

  constructor(
    private readonly limits: LineLimits,
    private readonly random: () => number = Math.random,
  ) {}

  /** @param enter whether the work may begin; asked until it says so */
  async inTurn<T>(key: string, enter: () => Promise<boolean>, work: () => Promise<T>): Promise<T> {
    const deadlineMs = performance.now() + this.limits.maxWaitMs;
    await this.#takePlace(key, deadlineMs);
    try {
      if (!(await enter())) await this.#counted(() => this.#entered(enter, deadlineMs));
      return await work();
    } finally {
      this.#passOn(key);
    }
  }

  async #takePlace(key: string, deadlineMs: number): Promise<void> {
    const line = this.#lines.get(key) ?? { underWay: 0, waiting: new Set() };
    this.#lines.set(key, line);
    if (line.underWay < this.limits.places) line.underWay += 1;
    else await this.#counted(() => turnIn(line, deadlineMs));
  }

  #passOn(key: string): void {
    const line = this.#lines.get(key);
    if (line === undefined) return;
    const [next] = line.waiting;
    if (next !== undefined) {
      next();
      return;
    }
    line.underWay -= 1;
    if (line.underWay === 0) this.#lines.delete(key);
  }

  async #entered(enter: () => Promise<boolean>, deadlineMs: number): Promise<void> {
    for (let pauseMs = FIRST_POLL_MS; ; pauseMs = Math.min(pauseMs * POLL_GROWTH, LONGEST_POLL_MS)) {
      const leftMs = deadlineMs - performance.now();
      if (leftMs <= 0) throw appError('SERVICE_UNAVAILABLE');
      await sleep(Math.min(pauseMs * (0.5 + this.random()), leftMs));
      if (await enter()) return;
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

/** Resolves when a place is passed on. */
function turnIn({ waiting }: Line, deadlineMs: number): Promise<void> {
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
