import type { ApiReply } from '#testing';
import type { Outcome } from './load-user.js';

/** A request with an unknown outcome: 503, or a broken connection. */
export interface Unanswered {
  readonly kind: string;
  readonly how: '503' | 'cut';
  /** On the clock of `performance.now()`. */
  readonly startedAt: number;
  readonly endedAt: number;
}

/** The outcome of a request; the reply exists unless the outcome is `unknown`. */
export interface Asked {
  readonly outcome: Outcome;
  readonly reply: ApiReply | undefined;
}

/** Sends requests, repeats none, and keeps count of what they came to. */
export class Requests {
  /** By kind. */
  readonly counts = new Map<string, Record<Outcome, number>>();
  readonly unanswered: Unanswered[] = [];
  /** Answers that are neither expected nor said to come while something is away. */
  readonly failures: string[] = [];
  readonly #underWay = new Set<Promise<Asked>>();
  #sent = 0;

  get sent(): number {
    return this.#sent;
  }

  /** Waits for every request that has begun by now. */
  async ended(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  /** @param expected the status that the answer is to have */
  async ask(kind: string, expected: number, send: () => Promise<ApiReply>): Promise<Asked> {
    const asking = this.#ask(kind, expected, send);
    this.#underWay.add(asking);
    return asking.finally(() => this.#underWay.delete(asking));
  }

  async #ask(kind: string, expected: number, send: () => Promise<ApiReply>): Promise<Asked> {
    this.#sent += 1;
    const startedAt = performance.now();
    const asked = await send().then(
      (reply) => this.#classified(kind, expected, { reply, startedAt }),
      (error: unknown) => this.#broken(kind, startedAt, error),
    );
    const counts = this.counts.get(kind) ?? { acknowledged: 0, refused: 0, unknown: 0 };
    this.counts.set(kind, { ...counts, [asked.outcome]: counts[asked.outcome] + 1 });
    return asked;
  }

  #classified(kind: string, expected: number, answer: { reply: ApiReply; startedAt: number }): Asked {
    const { reply, startedAt } = answer;
    if (reply.status === expected) return { outcome: expected < 400 ? 'acknowledged' : 'refused', reply };
    if (reply.status !== 503) return this.#failed(kind, `${reply.status} instead of ${expected}: ${reply.text}`);
    if (reply.headers.get('retry-after') === null) return this.#failed(kind, `503 without Retry-After: ${reply.text}`);
    this.unanswered.push({ kind, how: '503', startedAt, endedAt: performance.now() });
    return { outcome: 'unknown', reply: undefined };
  }

  #broken(kind: string, startedAt: number, error: unknown): Asked {
    // The error of fetch when the connection ends before the answer does.
    if (!(error instanceof TypeError)) return this.#failed(kind, String(error));
    this.unanswered.push({ kind, how: 'cut', startedAt, endedAt: performance.now() });
    return { outcome: 'unknown', reply: undefined };
  }

  #failed(kind: string, what: string): Asked {
    this.failures.push(`${kind}: ${what}`);
    return { outcome: 'unknown', reply: undefined };
  }
}
