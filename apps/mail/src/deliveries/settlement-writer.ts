import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '@nestjs/common';
import { messageOf } from '#errors';
import type { Settlement } from './delivery.row.js';

const RETRY_MS = 1_000;
/** After the end of the process another one finds the lease over, and sends again: trying longer would only delay the end. */
const LAST_TRIES = 5;

/** Notes what became of attempts: those that come while one note is being written go together into the next. */
export class SettlementWriter {
  #waiting: Settlement[] = [];
  #writing: Promise<void> | undefined;
  #triesLeft = Infinity;

  constructor(
    private readonly write: (batch: readonly Settlement[]) => Promise<void>,
    private readonly logger: Logger,
  ) {}

  add(settlement: Settlement): void {
    this.#waiting.push(settlement);
    this.#writing ??= this.#writeAll();
  }

  async stop(): Promise<void> {
    this.#triesLeft = LAST_TRIES;
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0 && this.#triesLeft > 0) {
      const batch = this.#waiting.splice(0);
      await this.write(batch).catch(async (error: unknown) => {
        this.#waiting.unshift(...batch);
        this.#triesLeft -= 1;
        this.logger.warn(`what became of ${batch.length} deliveries could not be noted yet: ${messageOf(error)}`);
        await sleep(RETRY_MS);
      });
    }
    this.#writing = undefined;
  }
}
