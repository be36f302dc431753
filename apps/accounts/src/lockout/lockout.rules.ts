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

/** Whose failures are counted together, whatever name or endpoint they came by. */
export interface LockoutSubject {
  readonly appId: string;
  readonly userId: string;
}

/** When a user is locked, and for how long. */
export interface LockoutLimits {
  /** Which failure within the window locks. Also the most attempts that can be failed or pending at once. */
  readonly lockingFailure: number;
  readonly windowMs: number;
  /** Counted from the failure that locks. */
  readonly lockMs: number;
  /** How long an attempt may take; after it, its place is free again. */
  readonly reservationMs: number;
}

/** Whether an attempt may be judged. `full`: others must be judged before it. */
export type ReserveOutcome =
  { readonly kind: 'reserved' | 'full' } | { readonly kind: 'locked'; readonly remainingMs: number };

/** What became of a verdict. Only one that was `judged` may be told; `late`: its reservation had expired. */
export type SettleOutcome = (
  { readonly kind: 'judged' | 'late' } | { readonly kind: 'locked'; readonly remainingMs: number }
) & {
  /** Whether this verdict has locked the user. */
  readonly isLockNew: boolean;
};

/** A locked user. */
export interface Lockout {
  readonly userId: string;
  readonly lockedUntil: Date;
}

export interface LockoutStatus {
  readonly lockedUntil: Date | undefined;
  /** Failures within the window; none while the user is locked. */
  readonly failures: number;
}

/** A page of locked users, in the order in which their locks end. */
export interface LockoutPage {
  readonly limit: number;
  /** The last one of the page before. */
  readonly after?: Lockout | undefined;
}

/** Begins what stands for a user who does not exist; no object id begins with it. */
const PREFIX = '~';

/**
 * The user id under which failures of a name are counted that nobody has: one of 65,536, so that names out of thin air take
 * no more memory than that.
 * @param hash keyed, so that nobody can tell which names share one
 */
export function decoyAccountId(hash: Buffer): string {
  return `${PREFIX}${hash.readUInt16BE()}`;
}
