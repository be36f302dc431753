const FIRST_WINDOW = 10;
/** Within this time a refusal halves the window once. */
const SHRINK_INTERVAL_MS = 1_000;
/**
 * A request that takes longer than this multiple of the shortest one, and than this time, has waited for others, for example for this
 * process: more requests at once would wait as well.
 */
const CROWDED = { factor: 2, leastMs: 50 };
/** A request that has waited takes this part of a place away. */
const CROWDED_SHRINK = 0.1;

/**
 * Limits the requests at once: more after each success, half after a refusal (AIMD, with a fast start), and fewer while requests wait for each
 * other.
 */
export class SendWindow {
  #limit: number;
  #running = 0;
  #isStarting = true;
  /** Of the requests since the lane was idle. */
  #shortestMs = Infinity;
  #isCrowded = false;
  #shrunkAt = -Infinity;
  readonly #waiting: (() => void)[] = [];

  constructor(private readonly most: number) {
    this.#limit = Math.min(FIRST_WINDOW, most);
  }

  /** @returns the time at which the request has a place */
  async enter(): Promise<number> {
    if (this.#running >= this.#limit) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running += 1;
    return performance.now();
  }

  leave(): void {
    const next = this.#running <= this.#limit ? this.#waiting.shift() : undefined;
    // The next request takes over the place.
    if (next === undefined) this.#running -= 1;
    else next();
    this.#fill();
    if (this.#running === 0) this.#shortestMs = Infinity;
  }

  /** @param ms the time of a request in its place */
  measure(ms: number): void {
    this.#shortestMs = Math.min(this.#shortestMs, ms);
    this.#isCrowded = ms > Math.max(CROWDED.leastMs, CROWDED.factor * this.#shortestMs);
    if (!this.#isCrowded) return;
    this.#isStarting = false;
    this.#limit = Math.max(Math.min(FIRST_WINDOW, this.most), this.#limit - CROWDED_SHRINK);
  }

  grow(): void {
    if (this.#isCrowded) return;
    this.#limit = Math.min(this.most, this.#limit + (this.#isStarting ? 1 : 1 / this.#limit));
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

  #fill(): void {
    while (this.#running + 1 <= this.#limit && this.#waiting.length > 0) {
      this.#running += 1;
      this.#waiting.shift()?.();
    }
  }
}
