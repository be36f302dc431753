import type { Logger } from '@nestjs/common';
import { pauseMs } from './delivery.rules.js';

/** Whether a channel rests because its server is out of reach, and for how long. */
export class ChannelPause {
  #lastMs = 0;
  #until = 0;

  constructor(private readonly logger: Logger) {}

  get remainingMs(): number {
    return Math.max(0, this.#until - performance.now());
  }

  get isOver(): boolean {
    return this.remainingMs === 0;
  }

  /** Whether nothing has told yet that the server is back. */
  get isProbing(): boolean {
    return this.#lastMs > 0;
  }

  /** Several attempts that fail together begin one pause. */
  begin(reason: string): void {
    if (!this.isOver) return;
    if (this.#lastMs === 0) this.logger.warn(`paused, everything waits: ${reason}`);
    this.#lastMs = pauseMs(this.#lastMs);
    this.#until = performance.now() + this.#lastMs;
  }

  end(): void {
    if (this.#lastMs > 0) this.logger.log('goes on');
    this.#lastMs = 0;
    this.#until = 0;
  }
}
