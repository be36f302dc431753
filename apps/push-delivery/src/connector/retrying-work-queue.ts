import { Logger } from '@nestjs/common';
import { ConcurrencyLimiter } from '#bootstrap';
import { isUnavailable } from './queue-writes.js';

const PAUSE_MS = 500;

/**
 * Does one kind of work for many items, a limited number at once, first come, first served. If a dependency is unavailable, all work
 * pauses and then continues, including the failed items.
 */
export class RetryingWorkQueue<Item extends object | string> {
  private readonly logger = new Logger('RetryingWorkQueue');
  readonly #limiter: ConcurrencyLimiter;

  constructor(
    private readonly work: (item: Item) => Promise<void>,
    concurrency: number,
  ) {
    this.#limiter = new ConcurrencyLimiter({ concurrency });
  }

  /** An item that already waits keeps its position. */
  add(item: Item): void {
    this.#limiter.add(item, () => this.#do(item));
  }

  forget(item: Item): void {
    this.#limiter.forget(item);
  }

  close(): void {
    this.#limiter.close();
  }

  async #do(item: Item): Promise<void> {
    try {
      await this.work(item);
    } catch (error) {
      if (isUnavailable(error)) this.#retry(item);
      else this.logger.error(error);
    }
  }

  #retry(item: Item): void {
    this.#limiter.pause(PAUSE_MS);
    this.add(item);
  }
}
