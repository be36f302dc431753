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

/** Resolves when all work has ended, well or badly, or when the time is over. */
export async function settledWithin(work: Iterable<Promise<unknown>>, timeoutMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise((resolve) => {
    timer = setTimeout(resolve, timeoutMs);
  });
  await Promise.race([Promise.allSettled(work), timeout]);
  clearTimeout(timer);
}
