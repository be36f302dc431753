import { performance } from 'node:perf_hooks';

const FIRST_WINDOW = 10;
/** Within this time the window shrinks once. */
const SHRINK_INTERVAL_MS = 1_000;
/** A larger window is a matter of the processor: more requests at once than it can serve only wait longer. */
const CROWD = 100;
const LOAD_INTERVAL_MS = 100;
/** The share of the time of the event loop. */
const SATURATED = 0.95;
const CROWD_SHRINKS_TO = 0.9;
/** After a shrink a large window still grows by a twentieth in the time of a request. */
const LEAST_GROWTH = 0.05;

/**
 * Limits the requests at once: more after each success, half after a refusal (AIMD, with a fast start), and fewer while a crowd of them
 * keeps the process busy all the time. Requests of single pushes go before those of large ones.
 */
export class SendWindow {
  #limit: number;
  #running = 0;
  #isStarting = true;
  #shrunkAt = -Infinity;
  #load = performance.eventLoopUtilization();
  #loadedAt = performance.now();
  #isSaturated = false;
  readonly #urgent: (() => void)[] = [];
  readonly #others: (() => void)[] = [];

  constructor(private readonly most: number) {
    this.#limit = Math.min(FIRST_WINDOW, most);
  }

  async enter(isUrgent: boolean): Promise<void> {
    if (this.#running < this.#limit) this.#running += 1;
    else await new Promise<void>((resolve) => (isUrgent ? this.#urgent : this.#others).push(resolve));
  }

  leave(): void {
    this.#running -= 1;
    while (this.#running + 1 <= this.#limit) {
      const next = this.#urgent.shift() ?? this.#others.shift();
      if (next === undefined) return;
      // The next request takes the place before anything else can.
      this.#running += 1;
      next();
    }
  }

  grow(): void {
    this.#adaptToLoad();
    const isCrowded = this.#isSaturated && this.#limit >= CROWD;
    if (isCrowded || this.#running < this.#limit / 2) return;
    this.#limit = Math.min(this.most, this.#limit + (this.#isStarting ? 1 : Math.max(LEAST_GROWTH, 1 / this.#limit)));
  }

  shrink(): void {
    if (performance.now() - this.#shrunkAt < SHRINK_INTERVAL_MS) return;
    this.#shrunkAt = performance.now();
    this.#isStarting = false;
    this.#limit = Math.max(1, this.#limit / 2);
  }

  reset(): void {
    this.#limit = 1;
    this.#isStarting = true;
  }

  #adaptToLoad(): void {
    const now = performance.now();
    if (now - this.#loadedAt < LOAD_INTERVAL_MS) return;
    const load = performance.eventLoopUtilization();
    this.#isSaturated = performance.eventLoopUtilization(load, this.#load).utilization > SATURATED;
    [this.#load, this.#loadedAt] = [load, now];
    if (!this.#isSaturated || this.#limit <= CROWD) return;
    this.#isStarting = false;
    this.#limit = Math.max(CROWD, this.#limit * CROWD_SHRINKS_TO);
  }
}
