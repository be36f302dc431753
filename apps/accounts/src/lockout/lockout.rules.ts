import type { LockoutLimits, ReserveOutcome, SettleOutcome } from './lockout.types.js';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;

/** Specification, Login lockout and Limits: "more than 6 within 15 minutes", "until 15 minutes after the last failed login". */
export const LOCKOUT_LIMITS: LockoutLimits = {
  lockingFailure: 7,
  windowMs: 15 * MINUTE_MS,
  lockMs: 15 * MINUTE_MS,
  reservationMs: 10 * SECOND_MS,
};

interface Reservation {
  readonly id: string;
  readonly expiresAtMs: number;
}

/** What is known of one user's attempts. Times are in milliseconds of one clock, the store's. */
export interface AttemptState {
  readonly failedAtMs: readonly number[];
  readonly reservations: readonly Reservation[];
  readonly lockedUntilMs: number | undefined;
}

export interface Move<Outcome> {
  readonly state: AttemptState;
  readonly outcome: Outcome;
}

/** The state as it is now: what is over is gone. */
export function stateAt(state: AttemptState, nowMs: number, { windowMs }: LockoutLimits): AttemptState {
  return {
    failedAtMs: state.failedAtMs.filter((failedAtMs) => failedAtMs > nowMs - windowMs),
    reservations: state.reservations.filter(({ expiresAtMs }) => expiresAtMs > nowMs),
    lockedUntilMs: state.lockedUntilMs !== undefined && state.lockedUntilMs > nowMs ? state.lockedUntilMs : undefined,
  };
}

/** An attempt takes its place before its secret is judged, so that no more can be under way than may fail. */
export function reserve(before: AttemptState, id: string, nowMs: number, limits: LockoutLimits): Move<ReserveOutcome> {
  const state = stateAt(before, nowMs, limits);
  if (state.lockedUntilMs !== undefined) return { state, outcome: lockedFor(state.lockedUntilMs - nowMs) };
  if (state.failedAtMs.length + state.reservations.length >= limits.lockingFailure)
    return { state, outcome: { kind: 'full' } };
  const reservation = { id, expiresAtMs: nowMs + limits.reservationMs };
  return {
    state: { ...state, reservations: [...state.reservations, reservation] },
    outcome: { kind: 'reserved' },
  };
}

/**
 * Counts a verdict. While the user is locked none counts; a wrong one counts though it be late, but is not told then: the
 * place of a late attempt may have been given to another.
 */
export function settle(
  before: AttemptState,
  verdict: { readonly id: string; readonly isRight: boolean },
  nowMs: number,
  limits: LockoutLimits,
): Move<SettleOutcome> {
  const current = stateAt(before, nowMs, limits);
  if (current.lockedUntilMs !== undefined) {
    return { state: current, outcome: { ...lockedFor(current.lockedUntilMs - nowMs), isLockNew: false } };
  }
  const isLate = !current.reservations.some(({ id }) => id === verdict.id);
  const state = release(current, verdict.id);
  const told = { kind: isLate ? 'late' : 'judged', isLockNew: false } as const;
  if (verdict.isRight) return { state, outcome: told };
  const failedAtMs = [...state.failedAtMs, nowMs];
  if (failedAtMs.length < limits.lockingFailure) return { state: { ...state, failedAtMs }, outcome: told };
  return {
    // What is still pending is settled under the lock; after it the count starts at zero.
    state: { failedAtMs: [], reservations: [], lockedUntilMs: nowMs + limits.lockMs },
    outcome: isLate ? { kind: 'late', isLockNew: true } : { ...lockedFor(limits.lockMs), isLockNew: true },
  };
}

/** Gives the place of an attempt back that was not judged. */
export function release(state: AttemptState, id: string): AttemptState {
  return { ...state, reservations: state.reservations.filter((reservation) => reservation.id !== id) };
}

/** Unlocks. Attempts that are being judged keep their places. */
export function clear(state: AttemptState): AttemptState {
  return { ...state, failedAtMs: [], lockedUntilMs: undefined };
}

/** When nothing of the state matters any more; undefined where nothing does now. */
export function expiryOf(state: AttemptState, { windowMs }: LockoutLimits): number | undefined {
  const ends = [
    ...state.failedAtMs.map((failedAtMs) => failedAtMs + windowMs),
    ...state.reservations.map(({ expiresAtMs }) => expiresAtMs),
    ...(state.lockedUntilMs === undefined ? [] : [state.lockedUntilMs]),
  ];
  return ends.length === 0 ? undefined : Math.max(...ends);
}

/** What `Retry-After` says: the lock is over when it is. */
export function retryAfterSeconds(remainingMs: number): number {
  return Math.max(1, Math.ceil(remainingMs / SECOND_MS));
}

function lockedFor(remainingMs: number): { readonly kind: 'locked'; readonly remainingMs: number } {
  return { kind: 'locked', remainingMs };
}
