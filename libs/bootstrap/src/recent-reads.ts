import { LRUCache } from 'lru-cache';

/** How old an answer may be, in milliseconds (docs/decisions.md). */
const TTL_MS = 1_000;
const MAX_KEPT = 10_000;

/** What differs from answers that are kept for a second. */
interface RecentReadsOptions<Answer> {
  /** How old an answer may be, in milliseconds. */
  readonly ttlMs?: number;
  /** Answers that say that there is nothing: they are kept apart, so that however many come they displace no other. */
  readonly absent?: { readonly is: (answer: Answer) => boolean; readonly ttlMs: number };
}

/** Answers that are a second old at most, unless told otherwise. "None" is an answer too: give it a form that is an object. */
export class RecentReads<Answer extends object> {
  readonly #kept: LRUCache<string, Answer>;
  readonly #absent: LRUCache<string, Answer>;
  readonly #running = new Map<string, Promise<Answer>>();

  constructor(
    private readonly read: (key: string) => Promise<Answer>,
    private readonly options: RecentReadsOptions<Answer> = {},
  ) {
    const { ttlMs = TTL_MS, absent } = options;
    this.#kept = new LRUCache({ max: MAX_KEPT, ttl: ttlMs });
    this.#absent = new LRUCache({ max: MAX_KEPT, ttl: absent?.ttlMs ?? ttlMs });
  }

  /** @throws what the read throws */
  async get(key: string): Promise<Answer> {
    return this.#kept.get(key) ?? this.#absent.get(key) ?? this.#running.get(key) ?? this.#begin(key);
  }

  /** Reads anew when it is asked for next. A read that is under way is still answered to those who wait for it, and not kept. */
  forget(key: string): void {
    this.#kept.delete(key);
    this.#absent.delete(key);
    this.#running.delete(key);
  }

  #begin(key: string): Promise<Answer> {
    const running = this.#run(key, () => this.#running.get(key) === running);
    this.#running.set(key, running);
    return running;
  }

  async #run(key: string, isCurrent: () => boolean): Promise<Answer> {
    try {
      // A moment later, so that the read is noted before it can end.
      const answer = await Promise.resolve(key).then(this.read);
      if (isCurrent()) (this.options.absent?.is(answer) === true ? this.#absent : this.#kept).set(key, answer);
      return answer;
    } finally {
      if (isCurrent()) this.#running.delete(key);
    }
  }
}
