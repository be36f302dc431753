import { LRUCache } from 'lru-cache';

/** So many requests within a window that begins with the first of them. */
export interface RateLimit {
  readonly count: number;
  readonly windowSeconds: number;
}

/** Reads `off` or `<count>/<seconds>`, as the environment's schema lets it through. */
export function parseRateLimit(text: string): RateLimit | undefined {
  if (text === 'off') return undefined;
  const [count = 0, windowSeconds = 0] = text.split('/').map(Number);
  return { count, windowSeconds };
}

/** Requests under one key. */
export interface RequestCount {
  /** Those of the window, this one included. */
  readonly count: number;
  /** Until the window ends and counting begins anew, in milliseconds. */
  readonly resetMs: number;
}

/** Counts requests by key, each key in windows of its own. */
export interface RequestCounter {
  /** Counts one request. A window begins with the first request after the last window. */
  count(key: string, windowSeconds: number): Promise<RequestCount>;
}

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
