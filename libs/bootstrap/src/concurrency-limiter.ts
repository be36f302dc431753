import { appError } from '#errors';

interface ConcurrencyLimits {
  /** The number of pieces of work of one key that run at once; the others wait, first in, first out. */
  readonly concurrency: number;
  /** The number of pieces of work that may wait, of all keys together; unlimited unless given. */
  readonly maxWaiting?: number;
}

interface Queue {
  running: number;
  readonly waiting: Map<unknown, () => Promise<void>>;
}

/** Limits how many pieces of work of one key run at once in this process, and how many wait. */
export class ConcurrencyLimiter {
  readonly #queues = new Map<string, Queue>();
  #waiting = 0;
  #pause: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(private readonly limits: ConcurrencyLimits) {}

  /** @param turn `deadlineMs`, in `performance.now()` time: the work is refused if its turn has not come by then */
  run<T>(work: () => Promise<T>, turn: { readonly key?: string; readonly deadlineMs?: number } = {}): Promise<T> {
    const { key = '', deadlineMs } = turn;
    if (this.#isClosed) return Promise.reject(appError('SERVICE_UNAVAILABLE'));
    return new Promise<T>((resolve, reject) => {
      const token = Symbol('turn');
      let timer: NodeJS.Timeout | undefined = undefined;
      const start = () => {
        clearTimeout(timer);
        return work().then(resolve, reject);
      };
      this.#add(key, token, start);
      if (deadlineMs === undefined || this.#queues.get(key)?.waiting.has(token) !== true) return;
      timer = setTimeout(() => {
        this.#forget(key, token);
        reject(appError('SERVICE_UNAVAILABLE'));
      }, deadlineMs - performance.now());
    });
  }

  /** Without a result; the work must not reject. Work whose token already waits keeps its position. */
  add(token: object | string, work: () => Promise<void>): void {
    this.#add('', token, work);
  }

  forget(token: object | string): void {
    this.#forget('', token);
  }

  /** Counts the caller as waiting while it waits for something other than its turn. */
  async countWaiting(wait: () => Promise<void>): Promise<void> {
    this.#assertMayWait();
    this.#waiting += 1;
    try {
      await wait();
    } finally {
      this.#waiting -= 1;
    }
  }

  get isWaiting(): boolean {
    return this.#waiting > 0;
  }

  /** Starts no work for this time. A pause within a pause does not prolong it. */
  pause(ms: number): void {
    if (this.#isClosed) return;
    this.#pause ??= setTimeout(() => {
      this.#pause = undefined;
      for (const key of this.#queues.keys()) this.#startNext(key);
    }, ms);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#pause);
    this.#queues.clear();
    this.#waiting = 0;
  }

  #add(key: string, token: unknown, work: () => Promise<void>): void {
    if (this.#isClosed) return;
    const queue = this.#queues.get(key) ?? { running: 0, waiting: new Map() };
    this.#queues.set(key, queue);
    if (queue.waiting.has(token)) return;
    if (!this.#mayStart(queue)) this.#assertMayWait();
    queue.waiting.set(token, work);
    this.#waiting += 1;
    this.#startNext(key);
  }

  #forget(key: string, token: unknown): void {
    if (this.#queues.get(key)?.waiting.delete(token) === true) this.#waiting -= 1;
  }

  #assertMayWait(): void {
    if (this.#waiting >= (this.limits.maxWaiting ?? Infinity)) throw appError('SERVICE_UNAVAILABLE');
  }

  #mayStart({ running }: Queue): boolean {
    return running < this.limits.concurrency && this.#pause === undefined;
  }

  #startNext(key: string): void {
    const queue = this.#queues.get(key);
    if (queue === undefined) return;
    for (const [token, work] of queue.waiting) {
      if (!this.#mayStart(queue)) return;
      this.#forget(key, token);
      queue.running += 1;
      void this.#do(key, queue, work);
    }
    if (queue.running === 0 && queue.waiting.size === 0) this.#queues.delete(key);
  }

  async #do(key: string, queue: Queue, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } finally {
      queue.running -= 1;
      this.#startNext(key);
    }
  }
}
