import { settledWithin } from './settled-within.js';

/** Counts work in hand, and waits for its end. */
export class InFlight {
  readonly #running = new Set<Promise<unknown>>();

  get count(): number {
    return this.#running.size;
  }

  /** Follows a piece of work until it ends. */
  add(work: Promise<unknown>): void {
    this.#running.add(work);
    const remove = () => this.#running.delete(work);
    work.then(remove, remove);
  }

  /** Resolves when all work has ended, or when the time is over. */
  async settled(timeoutMs: number): Promise<void> {
    await settledWithin(this.#running, timeoutMs);
  }
}
