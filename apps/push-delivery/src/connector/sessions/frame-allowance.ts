/** Frames that a device may send at once, and each second after that, beside one for each message frame that it got. */
const BURST = 100;
const PER_SECOND = 10;

/** Tells a device that floods us from one that acknowledges what it gets. */
export class FrameAllowance {
  #left = BURST;
  #countedAt = 0;

  /** @returns whether this frame is still within it */
  take(nowMs: number): boolean {
    const earned = ((nowMs - this.#countedAt) / 1_000) * PER_SECOND;
    this.#left = Math.min(Math.max(BURST, this.#left), this.#left + earned) - 1;
    this.#countedAt = nowMs;
    return this.#left >= 0;
  }

  /** A frame was sent that asks for an answer. */
  earn(): void {
    this.#left += 1;
  }
}
