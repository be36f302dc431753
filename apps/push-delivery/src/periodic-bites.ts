import type { Logger } from '@nestjs/common';
import { messageOf } from '#errors';

export interface PeriodicBitesOptions {
  readonly intervalMs: number;
  /** Does a part of the work. Resolves with whether there may be more; what it throws ends this round alone. */
  readonly takeBite: () => Promise<boolean>;
  readonly logger: Logger;
}

/** Work that never ends, bite by bite: at each interval as many as there are, one after the other. */
export class PeriodicBites {
  #isStopping = false;
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> = Promise.resolve();

  constructor(private readonly options: PeriodicBitesOptions) {}

  start(): void {
    this.#timer = setInterval(() => {
      this.#round = this.#round.then(() => this.#takeAll());
    }, this.options.intervalMs);
  }

  /** Resolves once the bite that is under way is done. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#timer);
    await this.#round;
  }

  async #takeAll(): Promise<void> {
    const { takeBite, logger } = this.options;
    try {
      while (!this.#isStopping && (await takeBite()));
    } catch (error) {
      logger.debug(`put off: ${messageOf(error)}`);
    }
  }
}
