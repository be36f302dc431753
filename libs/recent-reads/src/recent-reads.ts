import { LRUCache } from 'lru-cache';
import { appError } from '#errors';

/** How old an answer may be, in milliseconds (docs/decisions.md). */
const TTL_MS = 1_000;
const MAX_KEPT = 10_000;

/** Answers that are a second old at most. "None" is an answer too: give it a form that is an object. */
export class RecentReads<Answer extends object> {
  readonly #kept: LRUCache<string, Answer>;

  constructor(read: (key: string) => Promise<Answer>) {
    this.#kept = new LRUCache({
      max: MAX_KEPT,
      ttl: TTL_MS,
      // A change in the middle of a read drops the entry; whoever waits still gets an answer.
      ignoreFetchAbort: true,
      fetchMethod: (key) => read(key),
    });
  }

  /** @throws what the read throws */
  async get(key: string): Promise<Answer> {
    const answer = await this.#kept.fetch(key);
    if (answer === undefined) throw appError('SERVICE_UNAVAILABLE');
    return answer;
  }

  /** Reads anew when it is asked for next. */
  forget(key: string): void {
    this.#kept.delete(key);
  }
}
