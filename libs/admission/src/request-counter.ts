import { LRUCache } from 'lru-cache';

/** Maximum number of requests within a window. A window starts with its first request. */
export interface RateLimit {
  readonly count: number;
  readonly windowSeconds: number;
}

/** Parses `off` or `<count>/<seconds>`; the schema of the environment has validated the form. */
export function parseRateLimit(text: string): RateLimit | undefined {
  if (text === 'off') return undefined;
  const [count = 0, windowSeconds = 0] = text.split('/').map(Number);
  return { count, windowSeconds };
}

/** The count of one key. */
export interface RequestCount {
  /** Requests of the window, this one included. */
  readonly count: number;
  /** Milliseconds until the window ends and the count restarts. */
  readonly resetMs: number;
}

/** Counts requests per key; each key has its own windows. */
export interface RequestCounter {
  /** Counts one request. The first request after the end of a window starts a new one. */
  count(key: string, windowSeconds: number): Promise<RequestCount>;
}

/** Beyond this number the least recently used key is dropped. The counter needs at most about 10 MB. */
const MAX_KEYS = 50_000;

/** Counts in this process only, in bounded memory. */
export class MemoryRequestCounter implements RequestCounter {
  readonly #windows: LRUCache<string, { count: number; endsAt: number }>;

  constructor(maxKeys = MAX_KEYS) {
    this.#windows = new LRUCache({ max: maxKeys });
  }

  count(key: string, windowSeconds: number): Promise<RequestCount> {
    return Promise.resolve(this.countNow(key, windowSeconds));
  }

  /** The synchronous form of `count`. */
  countNow(key: string, windowSeconds: number): RequestCount {
    const now = performance.now();
    const last = this.#windows.get(key);
    const window = last !== undefined && last.endsAt > now ? last : { count: 0, endsAt: now + windowSeconds * 1_000 };
    window.count += 1;
    this.#windows.set(key, window);
    // LRUCache treats a ttl of 0 as endless.
    return { count: window.count, resetMs: Math.max(1, Math.round(window.endsAt - now)) };
  }

  /** The count of a key in its window, without counting; 0 without a window. */
  countOf(key: string): number {
    const window = this.#windows.peek(key);
    return window !== undefined && window.endsAt > performance.now() ? window.count : 0;
  }
}
