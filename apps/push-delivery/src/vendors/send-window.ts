const FIRST_WINDOW = 10;
/** Within this time the window shrinks once. */
const SHRINK_INTERVAL_MS = 1_000;
/** A larger window depends on the time of the answers: requests that only wait longer bring nothing. */
const CROWD = 100;
/** A reading is the mean of as many answers as the window has, a hundred at least, and of this time at least. */
const READING_MS = 100;
/** In one reading: a window that doubles with each answer is far too large before the answers show it. */
const CROWD_GROWS_TO = 1.5;
const CROWD_SHRINKS_TO = 0.9;
/** A reading, beside the quickest one. */
const SLOW = 1.3;
/** The quickest reading is forgotten after this time, and a hundred requests measure anew. */
const QUICKEST_IS_VALID_MS = 120_000;
/** After a shrink a large window still grows by a twentieth in the time of a request. */
const LEAST_GROWTH = 0.05;

/**
 * Limits the requests at once: more after each success, half after a refusal (AIMD, with a fast start), and beyond a hundred only while the
 * vendor's answers, with their wait in this process, come as quickly as with fewer. Requests of single pushes go before those of large ones.
 */
export class SendWindow {
  #limit: number;
  /** Until the next reading. */
  #ceiling = CROWD;
  #running = 0;
  #isStarting = true;
  #shrunkAt = -Infinity;
  #reading = { since: performance.now(), answers: 0, seconds: 0 };
  #quickest = { seconds: Infinity, since: performance.now() };
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

  /** @param seconds the time of a request that the vendor accepted; undefined for other ends, which may come without a request */
  grow(seconds?: number): void {
    if (seconds !== undefined) this.#read(seconds);
    if (this.#running < this.#limit / 2) return;
    const grown = this.#limit + (this.#isStarting ? 1 : Math.max(LEAST_GROWTH, 1 / this.#limit));
    this.#limit = Math.min(this.most, this.#ceiling, grown);
  }

  shrink(): void {
    if (performance.now() - this.#shrunkAt < SHRINK_INTERVAL_MS) return;
    this.#shrunkAt = performance.now();
    this.#isStarting = false;
    this.#limit = Math.max(1, this.#limit / 2);
  }

  reset(): void {
    this.#limit = 1;
    this.#ceiling = CROWD;
    this.#isStarting = true;
  }

  #read(seconds: number): void {
    const reading = this.#reading;
    reading.answers += 1;
    reading.seconds += seconds;
    const now = performance.now();
    if (now - reading.since < READING_MS || reading.answers < Math.max(CROWD, this.#limit)) return;
    this.#reading = { since: now, answers: 0, seconds: 0 };
    this.#adapt(reading.seconds / reading.answers, now);
  }

  #adapt(seconds: number, now: number): void {
    if (now - this.#quickest.since > QUICKEST_IS_VALID_MS) {
      this.#quickest = { seconds: Infinity, since: now };
      this.#limit = Math.min(this.#limit, CROWD);
      this.#isStarting = true;
    }
    this.#quickest.seconds = Math.min(this.#quickest.seconds, seconds);
    if (seconds > SLOW * this.#quickest.seconds) this.#slowDown(seconds);
    // Requests of a larger window may still run.
    else this.#ceiling = Math.max(CROWD, this.#limit * (this.#running > this.#limit ? 1 : CROWD_GROWS_TO));
  }

  #slowDown(seconds: number): void {
    this.#ceiling = Math.max(CROWD, this.#limit * CROWD_SHRINKS_TO);
    // A hundred requests do not wait for each other: the vendor has become slower.
    if (this.#limit <= CROWD) this.#quickest.seconds = seconds;
    else {
      this.#limit = this.#ceiling;
      this.#isStarting = false;
    }
  }
}
