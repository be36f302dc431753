import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';

const FIRST_WINDOW = 10;
/** Within this time the window is halved once. */
const HALVE_INTERVAL_MS = 1_000;
const MEASURE_INTERVAL_MS = 100;
const RESOLUTION_MS = 10;
/** A process that runs its callbacks later than this has more requests in progress than it can serve promptly. */
const MAX_DELAY_MS = 25;
const EASE = 0.9;

/** How late this process runs its callbacks. */
export class LoopDelay {
  readonly #histogram: IntervalHistogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  #measuredAt = performance.now();
  #meanMs = 0;

  constructor() {
    this.#histogram.enable();
  }

  /** The mean of the last measurement, and when it ended. */
  read(): { readonly meanMs: number; readonly measuredAt: number } {
    const now = performance.now();
    if (now - this.#measuredAt >= MEASURE_INTERVAL_MS) {
      // Without a sample the mean is NaN.
      this.#meanMs = this.#histogram.count === 0 ? 0 : this.#histogram.mean / 1e6 - RESOLUTION_MS;
      this.#measuredAt = now;
      this.#histogram.reset();
    }
    return { meanMs: this.#meanMs, measuredAt: this.#measuredAt };
  }

  close(): void {
    this.#histogram.disable();
  }
}

/**
 * Limits the requests at once: more after each success, half after a refusal (AIMD, with a fast start), and fewer while this process
 * is late itself: more requests would only wait in it. Requests of single pushes go before those of large ones.
 */
export class SendWindow {
  #limit: number;
  #running = 0;
  #isStarting = true;
  #halvedAt = -Infinity;
  #easedAt = 0;
  readonly #urgent: (() => void)[] = [];
  readonly #others: (() => void)[] = [];

  constructor(
    private readonly most: number,
    private readonly delay: Pick<LoopDelay, 'read'>,
  ) {
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
      this.#running += 1;
      next();
    }
  }

  grow(): void {
    const { meanMs, measuredAt } = this.delay.read();
    if (meanMs <= MAX_DELAY_MS)
      this.#limit = Math.min(this.most, this.#limit + (this.#isStarting ? 1 : 1 / this.#limit));
    else if (measuredAt > this.#easedAt) {
      this.#easedAt = measuredAt;
      this.#isStarting = false;
      this.#limit = Math.min(this.#limit, Math.max(FIRST_WINDOW, this.#limit * EASE));
    }
  }

  halve(): void {
    if (performance.now() - this.#halvedAt < HALVE_INTERVAL_MS) return;
    this.#halvedAt = performance.now();
    this.#isStarting = false;
    this.#limit = Math.max(1, this.#limit / 2);
  }

  reset(): void {
    this.#limit = 1;
    this.#isStarting = true;
  }
}
