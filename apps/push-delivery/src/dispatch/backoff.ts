const FIRST_MS = 100;
const LONGEST_MS = 5_000;

/** Waiting times between attempts: each twice the last, 5 seconds at most. */
export class Backoff {
  #lastMs = 0;

  next(): number {
    this.#lastMs = Math.min(LONGEST_MS, Math.max(FIRST_MS, 2 * this.#lastMs));
    return this.#lastMs;
  }

  /** An attempt went well. */
  reset(): void {
    this.#lastMs = 0;
  }
}
