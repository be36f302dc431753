const FIRST_WINDOW = 10;
const SHRINK_INTERVAL_MS = 1_000;
/** Above it, the latency is watched: requests that only wait longer bring nothing. */
const PROBED_ABOVE = 100;
/** A sample takes at least this time, and the answers of one window or of PROBED_ABOVE. */
const SAMPLE_MS = 100;
/** Per sample: a window that doubles with each answer is too large before the answers show it. */
const LIMIT_GROWTH = 1.5;
const LIMIT_DECREASE = 0.9;
/** Slower samples, relative to the baseline, show that requests wait for each other. */
const MAX_LATENCY_RATIO = 1.3;
/** Then PROBED_ABOVE requests measure the baseline anew. */
const BASELINE_TTL_MS = 120_000;
/** Share by which a large window grows in the time of a request after a shrink. */
const LEAST_GROWTH = 0.05;

/** AIMD with a fast start. Above 100, the latency must stay within 1.3 times the best one. Single pushes go before large ones. */
export class SendWindow {
  #limit: number;
  #latencyLimit = PROBED_ABOVE;
  #running = 0;
  #isStarting = true;
  #shrunkAt = -Infinity;
  #sample = { since: performance.now(), answers: 0, seconds: 0 };
  #baseline = { seconds: Infinity, since: performance.now() };
  readonly #urgent: (() => void)[] = [];
  readonly #others: (() => void)[] = [];

  constructor(private readonly most: number) {
    this.#limit = Math.min(FIRST_WINDOW, most);
  }

  async enter(isUrgent: boolean): Promise<void> {
    if (this.#running + 1 <= this.#limit) this.#running += 1;
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

  /** @param seconds of a request that the vendor accepted; undefined for other ends */
  grow(seconds?: number): void {
    if (seconds !== undefined) this.#record(seconds);
    if (this.#running < this.#limit / 2) return;
    const grown = this.#limit + (this.#isStarting ? 1 : Math.max(LEAST_GROWTH, 1 / this.#limit));
    this.#limit = Math.min(this.most, this.#latencyLimit, grown);
  }

  shrink(): void {
    if (performance.now() - this.#shrunkAt < SHRINK_INTERVAL_MS) return;
    this.#shrunkAt = performance.now();
    this.#isStarting = false;
    this.#limit = Math.max(1, this.#limit / 2);
  }

  reset(): void {
    this.#limit = 1;
    this.#latencyLimit = PROBED_ABOVE;
    this.#isStarting = true;
  }

  #record(seconds: number): void {
    const sample = this.#sample;
    sample.answers += 1;
    sample.seconds += seconds;
    const now = performance.now();
    if (now - sample.since < SAMPLE_MS || sample.answers < Math.max(PROBED_ABOVE, this.#limit)) return;
    this.#sample = { since: now, answers: 0, seconds: 0 };
    this.#adapt(sample.seconds / sample.answers, now);
  }

  #adapt(seconds: number, now: number): void {
    if (now - this.#baseline.since > BASELINE_TTL_MS) {
      this.#baseline = { seconds: Infinity, since: now };
      this.#limit = Math.min(this.#limit, PROBED_ABOVE);
      this.#isStarting = true;
    }
    this.#baseline.seconds = Math.min(this.#baseline.seconds, seconds);
    if (seconds > MAX_LATENCY_RATIO * this.#baseline.seconds) this.#lowerLatencyLimit(seconds);
    else this.#latencyLimit = Math.max(PROBED_ABOVE, this.#limit * (this.#running > this.#limit ? 1 : LIMIT_GROWTH));
  }

  #lowerLatencyLimit(seconds: number): void {
    this.#latencyLimit = Math.max(PROBED_ABOVE, this.#limit * LIMIT_DECREASE);
    // So few requests do not wait for each other: the vendor is slower.
    if (this.#limit <= PROBED_ABOVE) this.#baseline.seconds = seconds;
    else {
      this.#limit = this.#latencyLimit;
      this.#isStarting = false;
    }
  }
}
