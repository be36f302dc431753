import { LRUCache } from 'lru-cache';
import type { RequestCount, RequestCounter } from './request-counter.js';

/** Beyond it the key that was quiet for longest is forgotten. Some 10 MB at most. */
const MAX_KEYS = 50_000;

/** Counts for this process alone, in bounded memory. */
export class MemoryRequestCounter implements RequestCounter {
  readonly #windows: LRUCache<string, { count: number; endsAt: number }>;

  constructor(maxKeys = MAX_KEYS) {
    this.#windows = new LRUCache({ max: maxKeys });
  }

  count(key: string, windowSeconds: number): Promise<RequestCount> {
    return Promise.resolve(this.countNow(key, windowSeconds));
  }

  /** The same, without a promise. */
  countNow(key: string, windowSeconds: number): RequestCount {
    const now = performance.now();
    const last = this.#windows.get(key);
    const window = last !== undefined && last.endsAt > now ? last : { count: 0, endsAt: now + windowSeconds * 1_000 };
    window.count += 1;
    this.#windows.set(key, window);
    return { count: window.count, resetMs: Math.round(window.endsAt - now) };
  }
}
