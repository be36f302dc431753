import { LRUCache } from 'lru-cache';

/** Groups are in the order of their first items. */
export function groupedBy<T, Key>(items: readonly T[], keyOf: (item: T) => Key): [Key, T[]][] {
  const groups = new Map<Key, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const together = groups.get(key);
    if (together === undefined) groups.set(key, [item]);
    else together.push(item);
  }
  return [...groups];
}

export function chunksOf<T>(items: readonly T[], size: number): T[][] {
  const count = Math.ceil(items.length / size);
  return Array.from({ length: count }, (_, index) => items.slice(index * size, (index + 1) * size));
}

interface TtlCacheOptions<Answer> {
  /** Time to live; default: 1 s. */
  readonly ttlMs?: number;
  readonly maxEntries?: number;
  /** Recognises results for missing objects. They are cached separately, so that many of them cannot displace other entries. */
  readonly absent?: { readonly is: (answer: Answer) => boolean; readonly ttlMs: number };
}

/** A cache of reads with a time to live. A missing object is also a result: represent it by an object. */
export class TtlCache<Answer extends object> {
  readonly #present: LRUCache<string, Answer>;
  readonly #absent: LRUCache<string, Answer>;
  readonly #running = new Map<string, Promise<Answer>>();

  constructor(
    private readonly read: (key: string) => Promise<Answer>,
    private readonly options: TtlCacheOptions<Answer> = {},
  ) {
    const { ttlMs = 1_000, maxEntries: max = 10_000, absent } = options;
    this.#present = new LRUCache({ max, ttl: ttlMs });
    this.#absent = new LRUCache({ max, ttl: absent?.ttlMs ?? ttlMs });
  }

  async get(key: string): Promise<Answer> {
    return this.#present.get(key) ?? this.#absent.get(key) ?? this.#running.get(key) ?? this.#begin(key);
  }

  /** Makes the next `get` read again. A read in progress still resolves for its current callers, and is not cached. */
  forget(key: string): void {
    this.#present.delete(key);
    this.#absent.delete(key);
    this.#running.delete(key);
  }

  clear(): void {
    this.#present.clear();
    this.#absent.clear();
    this.#running.clear();
  }

  #begin(key: string): Promise<Answer> {
    const running = this.#run(key, () => this.#running.get(key) === running);
    this.#running.set(key, running);
    return running;
  }

  async #run(key: string, isCurrent: () => boolean): Promise<Answer> {
    try {
      // The read starts one microtask later, so that `#running` has its entry before the read can end.
      const answer = await Promise.resolve(key).then(this.read);
      if (isCurrent()) (this.options.absent?.is(answer) === true ? this.#absent : this.#present).set(key, answer);
      return answer;
    } finally {
      if (isCurrent()) this.#running.delete(key);
    }
  }
}
