import { Logger } from '@nestjs/common';
import { isUnavailable } from './queue-writes.js';

const PAUSE_MS = 500;

/**
 * Limits the concurrency of one kind of work, first come, first served. If a dependency is unavailable, all work pauses and then
 * continues, including the failed items.
 */
export class ConcurrencyLimiter<Item> {
  private readonly logger = new Logger('ConcurrencyLimiter');
  readonly #waiting = new Set<Item>();
  #running = 0;
  #pause: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(
    private readonly work: (item: Item) => Promise<void>,
    private readonly concurrency: number,
  ) {}

  /** An item that already waits keeps its position. */
  add(item: Item): void {
    this.#waiting.add(item);
    this.#next();
  }

  forget(item: Item): void {
    this.#waiting.delete(item);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#pause);
    this.#waiting.clear();
  }

  #next(): void {
    while (this.#running < this.concurrency && this.#pause === undefined && !this.#isClosed) {
      const [item] = this.#waiting;
      if (item === undefined) return;
      this.#waiting.delete(item);
      this.#running += 1;
      void this.#do(item);
    }
  }

  async #do(item: Item): Promise<void> {
    try {
      await this.work(item);
    } catch (error) {
      if (isUnavailable(error)) this.#rest(item);
      else this.logger.error(error);
    } finally {
      this.#running -= 1;
      this.#next();
    }
  }

  #rest(item: Item): void {
    if (this.#isClosed) return;
    this.#waiting.add(item);
    this.#pause ??= setTimeout(() => {
      this.#pause = undefined;
      this.#next();
    }, PAUSE_MS);
  }
}
