import type {
  Lockout,
  LockoutPage,
  LockoutStatus,
  LockoutSubject,
  ReserveOutcome,
  SettleOutcome,
} from './lockout.types.js';

/**
 * Keeps failures, reservations and locks. Every move is one step for all replicas, by the clock of the store's server
 * (`lockout.rules.ts` says what a move does). A store that cannot be reached says SERVICE_UNAVAILABLE.
 */
export interface LockoutStore {
  /** Takes a place for an attempt. @param id unique for the attempt */
  reserve(subject: LockoutSubject, id: string): Promise<ReserveOutcome>;
  /** Brings the verdict of an attempt. */
  settle(subject: LockoutSubject, id: string, isRight: boolean): Promise<SettleOutcome>;
  /** Gives the place of an attempt back that was not judged. */
  release(subject: LockoutSubject, id: string): Promise<void>;
  /** Unlocks, and forgets the failures. */
  clear(subject: LockoutSubject): Promise<void>;
  /** How long the lock still lasts, in milliseconds; 0 where there is none. Cheap: logins that judge nothing ask it. */
  lockedForMs(subject: LockoutSubject): Promise<number>;
  find(subject: LockoutSubject): Promise<LockoutStatus>;
  list(appId: string, page: LockoutPage): Promise<Lockout[]>;
}

/** DI token of the process's `LockoutStore`. */
export const LOCKOUT_STORE = Symbol('LockoutStore');
