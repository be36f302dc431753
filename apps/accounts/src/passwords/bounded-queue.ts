/** Runs pieces of work a few at a time; the others wait in line up to a bound. */
export class BoundedQueue {
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(
    private readonly concurrency: number,
    private readonly limit: number,
    private readonly onLengthChange: (length: number) => void,
  ) {}

  /** Starts the work when its turn comes. Undefined where the queue is full: the work will not run. */
  run<T>(work: () => Promise<T>): Promise<T> | undefined {
    if (this.#running < this.concurrency) return this.#start(work);
    if (this.#waiting.length >= this.limit) return undefined;
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push(() => {
        this.#start(work).then(resolve, reject);
      });
      this.onLengthChange(this.#waiting.length);
    });
  }

  async #start<T>(work: () => Promise<T>): Promise<T> {
    this.#running += 1;
    try {
      return await work();
    } finally {
      this.#running -= 1;
      this.#next();
    }
  }

  #next(): void {
    const next = this.#waiting.shift();
    if (next === undefined) return;
    this.onLengthChange(this.#waiting.length);
    next();
  }
}
