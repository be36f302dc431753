import { LRUCache } from 'lru-cache';

const FAILURES_BEFORE_REST = 3;
const REST_MS = 5_000;
const MAX_APPLICATIONS = 10_000;

interface Failures {
  readonly count: number;
  readonly until: number;
}

/**
 * Which applications' providers do not answer. They rest for a moment, so that messages to them do not take the places of those
 * that others wait for.
 */
export class ProviderRest {
  readonly #failures = new LRUCache<string, Failures>({ max: MAX_APPLICATIONS });

  isResting(appId: string): boolean {
    return performance.now() < (this.#failures.get(appId)?.until ?? 0);
  }

  noteAnswer(appId: string): void {
    this.#failures.delete(appId);
  }

  noteSilence(appId: string): void {
    const count = (this.#failures.get(appId)?.count ?? 0) + 1;
    this.#failures.set(appId, { count, until: count < FAILURES_BEFORE_REST ? 0 : performance.now() + REST_MS });
  }
}
