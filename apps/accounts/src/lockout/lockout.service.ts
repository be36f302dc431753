import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { ConcurrencyLimiter } from '#bootstrap';
import type { LoginMethod } from '#contracts';
import { type AppError, appError, messageOf } from '#errors';
import { Metrics } from '#observability';
import { Sealer } from '#security';
import {
  type AttemptResult,
  decoyAccountId,
  type Lockout,
  LOCKOUT_LIMITS,
  type LockoutPage,
  type LockoutStore,
  type LockoutSubject,
  retryAfterSeconds,
  shownLockout,
} from './lockout.rules.js';

export type LoginAttemptLimits = ConstructorParameters<typeof ConcurrencyLimiter>[0] & { readonly maxWaitMs: number };

const FIRST_POLL_MS = 20;
const LONGEST_POLL_MS = 250;
const POLL_GROWTH = 1.5;

/** Attempts of one user wait in a queue here, and with growing pauses for other processes; SERVICE_UNAVAILABLE where it takes too long. */
export class LoginAttemptLimiter {
  readonly #limiter: ConcurrencyLimiter;

  constructor(
    private readonly limits: LoginAttemptLimits,
    private readonly random: () => number = Math.random,
  ) {
    this.#limiter = new ConcurrencyLimiter(limits);
  }

  async run<T>(key: string, reserve: () => Promise<boolean>, work: () => Promise<T>): Promise<T> {
    const deadlineMs = performance.now() + this.limits.maxWaitMs;
    const attempt = async () => {
      if (!(await reserve())) await this.#limiter.countWaiting(() => this.#reserved(reserve, deadlineMs));
      return work();
    };
    return this.#limiter.run(attempt, { key, deadlineMs });
  }

  async #reserved(reserve: () => Promise<boolean>, deadlineMs: number): Promise<void> {
    for (let pauseMs = FIRST_POLL_MS; ; pauseMs = Math.min(pauseMs * POLL_GROWTH, LONGEST_POLL_MS)) {
      const leftMs = deadlineMs - performance.now();
      if (leftMs <= 0) throw appError('SERVICE_UNAVAILABLE');
      await sleep(Math.min(pauseMs * (0.5 + this.random()), leftMs));
      if (await reserve()) return;
    }
  }
}

export const LOCKOUT_STORE = Symbol('LockoutStore');

/** More than 6 wrong secrets within 15 minutes lock all login methods of a user for 15 minutes (specification, Login lockout). */
@Injectable()
export class LockoutService {
  readonly #logger = new Logger('Lockout');

  constructor(
    @Inject(LOCKOUT_STORE) private readonly store: LockoutStore,
    private readonly limiter: LoginAttemptLimiter,
    private readonly metrics: Metrics,
    private readonly sealer: Sealer,
  ) {}

  /** If `attempt` throws, nothing counts. @throws AppError LOCKED_OUT; SERVICE_UNAVAILABLE where it cannot be verified or counted now */
  async verify(subject: LockoutSubject, method: LoginMethod, attempt: () => Promise<boolean>): Promise<boolean> {
    const id = randomUUID();
    return this.limiter.run(
      JSON.stringify([subject.appId, subject.userId]),
      () => this.#reserve(subject, id),
      async () => this.#settle(subject, { id, method, isCorrect: await this.#attempted(subject, id, attempt) }),
    );
  }

  /** The decoy account that stands for an unknown login name, so that wrong attempts lock it as they lock a user. */
  decoyAccount(appId: string, identifier: string, value: string): LockoutSubject {
    const hash = this.sealer.lookupHash(JSON.stringify(['login name', appId, identifier, value]));
    return { appId, userId: decoyAccountId(hash) };
  }

  async clear(subject: LockoutSubject): Promise<void> {
    await this.store.clear(subject);
  }

  /** For login methods without a secret of this service. @throws AppError LOCKED_OUT; SERVICE_UNAVAILABLE without the store */
  async assertNotLocked(subject: LockoutSubject): Promise<void> {
    const remainingMs = await this.store.lockedForMs(subject);
    if (remainingMs > 0) throw lockedOut(remainingMs);
  }

  async describe(subject: LockoutSubject): Promise<ReturnType<typeof shownLockout>> {
    return shownLockout(await this.store.find(subject), LOCKOUT_LIMITS);
  }

  async list(appId: string, page: LockoutPage): Promise<Lockout[]> {
    return this.store.list(appId, page);
  }

  async locksOf(appId: string, userIds: readonly string[]): Promise<ReadonlyMap<string, Date>> {
    const locks = await this.store.locksOf(appId, userIds);
    return new Map(locks.map(({ userId, lockedUntil }) => [userId, lockedUntil]));
  }

  async #reserve(subject: LockoutSubject, id: string): Promise<boolean> {
    const outcome = await this.store.reserve(subject, id);
    if (outcome.kind === 'locked') throw lockedOut(outcome.remainingMs);
    return outcome.kind === 'reserved';
  }

  async #attempted(subject: LockoutSubject, id: string, attempt: () => Promise<boolean>): Promise<boolean> {
    try {
      return await attempt();
    } catch (error) {
      await this.store.release(subject, id).catch((failure: unknown) => {
        this.#logger.debug(`a reservation was not released and will expire: ${messageOf(failure)}`);
      });
      throw error;
    }
  }

  async #settle(subject: LockoutSubject, result: AttemptResult): Promise<boolean> {
    const outcome = await this.store.settle(subject, result);
    if (outcome.isLockNew) this.metrics.lockouts.inc();
    if (outcome.kind === 'locked') throw lockedOut(outcome.remainingMs);
    // Another attempt may have taken its reservation: a response would reveal one too many.
    if (outcome.kind === 'late')
      throw appError('SERVICE_UNAVAILABLE', { cause: new Error('the result came after the reservation had expired') });
    return result.isCorrect;
  }
}

function lockedOut(remainingMs: number): AppError {
  return appError('LOCKED_OUT', { retryAfterSeconds: retryAfterSeconds(remainingMs) });
}
