const FIRST_WINDOW = 10;
/** Within this time the window shrinks once. */
const SHRINK_INTERVAL_MS = 1_000;
/** A request that takes longer than the quickest one by more than both has waited in this process, or in a crowd at the vendor. */
const SLOW = { factor: 1.5, ms: 25 };

/**
 * Limits the requests at once: more after each quick success, half after a refusal (AIMD, with a fast start). Requests of single pushes
 * go before those of large ones.
 */
export class SendWindow {
  #limit: number;
  #running = 0;
  #isStarting = true;
  #quickestMs = Infinity;
  #shrunkAt = -Infinity;
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

  /**
   * More requests at once bring nothing where they only wait longer, or where so many do not run.
   * @param tookMs the time of a successful request, without its wait for a place
   */
  grow(tookMs: number): void {
    this.#quickestMs = Math.min(this.#quickestMs, tookMs);
    const isSlow = tookMs > Math.max(SLOW.factor * this.#quickestMs, this.#quickestMs + SLOW.ms);
    if (isSlow) this.#isStarting = false;
    if (isSlow || this.#running < this.#limit / 2) return;
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
    this.#quickestMs = Infinity;
  }
}
