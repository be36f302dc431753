/** The account whose failures are counted together, across login names and endpoints. */
export interface LockoutSubject {
  readonly appId: string;
  readonly userId: string;
}

export interface LockoutLimits {
  /** The number of the failure within the window that locks. Also the maximum of failed and pending attempts together. */
  readonly lockingFailure: number;
  readonly windowMs: number;
  /** Counted from the failure that locks. */
  readonly lockMs: number;
  /** How long an attempt may take before its reservation expires. */
  readonly reservationMs: number;
}

/** Whether an attempt may be verified. `full`: pending attempts must be settled first. */
export type ReserveOutcome =
  { readonly kind: 'reserved' | 'full' } | { readonly kind: 'locked'; readonly remainingMs: number };

/**
 * The result of a settled attempt. Only a `settled` verdict may be returned to the client; `late`: the reservation had expired.
 */
export type SettleOutcome = (
  { readonly kind: 'settled' | 'late' } | { readonly kind: 'locked'; readonly remainingMs: number }
) & {
  /** Whether this verdict has locked the user. */
  readonly isLockNew: boolean;
};

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
  /** The last user of the previous page. */
  readonly after?: Lockout | undefined;
}

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

/** The stored attempts of one user. Times are in milliseconds of the store's clock. */
export interface AttemptState {
  readonly failedAtMs: readonly number[];
  readonly reservations: readonly Reservation[];
  readonly lockedUntilMs: number | undefined;
}

export interface Transition<Outcome> {
  readonly state: AttemptState;
  readonly outcome: Outcome;
}

/** The state without expired failures, reservations and locks. */
export function stateAt(state: AttemptState, nowMs: number, { windowMs }: LockoutLimits): AttemptState {
  return {
    failedAtMs: state.failedAtMs.filter((failedAtMs) => failedAtMs > nowMs - windowMs),
    reservations: state.reservations.filter(({ expiresAtMs }) => expiresAtMs > nowMs),
    lockedUntilMs: state.lockedUntilMs !== undefined && state.lockedUntilMs > nowMs ? state.lockedUntilMs : undefined,
  };
}

/** An attempt is reserved before its secret is verified, so no more attempts run at once than may fail. */
export function reserve(
  before: AttemptState,
  id: string,
  nowMs: number,
  limits: LockoutLimits,
): Transition<ReserveOutcome> {
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
 * Counts a verdict. Under a lock none counts. A wrong one counts even if it is late, but a late verdict is not returned: another
 * attempt may have taken its reservation.
 */
export function settle(
  before: AttemptState,
  verdict: { readonly id: string; readonly isRight: boolean },
  nowMs: number,
  limits: LockoutLimits,
): Transition<SettleOutcome> {
  const current = stateAt(before, nowMs, limits);
  if (current.lockedUntilMs !== undefined) {
    return { state: current, outcome: { ...lockedFor(current.lockedUntilMs - nowMs), isLockNew: false } };
  }
  const isLate = !current.reservations.some(({ id }) => id === verdict.id);
  const state = release(current, verdict.id);
  const outcome = { kind: isLate ? 'late' : 'settled', isLockNew: false } as const;
  if (verdict.isRight) return { state, outcome };
  const failedAtMs = [...state.failedAtMs, nowMs];
  if (failedAtMs.length < limits.lockingFailure) return { state: { ...state, failedAtMs }, outcome };
  return {
    // Pending attempts are settled under the lock; after the lock the count starts at zero.
    state: { failedAtMs: [], reservations: [], lockedUntilMs: nowMs + limits.lockMs },
    outcome: isLate ? { kind: 'late', isLockNew: true } : { ...lockedFor(limits.lockMs), isLockNew: true },
  };
}

/** Releases the reservation of an attempt without a verdict. */
export function release(state: AttemptState, id: string): AttemptState {
  return { ...state, reservations: state.reservations.filter((reservation) => reservation.id !== id) };
}

/** Unlocks the user. Pending attempts keep their reservations. */
export function clear(state: AttemptState): AttemptState {
  return { ...state, failedAtMs: [], lockedUntilMs: undefined };
}

/** When the whole state is expired; undefined if it is already. */
export function expiryOf(state: AttemptState, { windowMs }: LockoutLimits): number | undefined {
  const ends = [
    ...state.failedAtMs.map((failedAtMs) => failedAtMs + windowMs),
    ...state.reservations.map(({ expiresAtMs }) => expiresAtMs),
    ...(state.lockedUntilMs === undefined ? [] : [state.lockedUntilMs]),
  ];
  return ends.length === 0 ? undefined : Math.max(...ends);
}

/** The value of `Retry-After`: rounded up, so the lock is over by then. */
export function retryAfterSeconds(remainingMs: number): number {
  return Math.max(1, Math.ceil(remainingMs / SECOND_MS));
}

function lockedFor(remainingMs: number): { readonly kind: 'locked'; readonly remainingMs: number } {
  return { kind: 'locked', remainingMs };
}

/** The prefix of decoy accounts; no object id begins with it. */
const PREFIX = '~';

/**
 * The user id under which failures of an unknown name are counted: one of 65,536, which limits the memory that invented names can
 * use.
 * @param hash keyed, so clients cannot find out which names share a decoy account
 */
export function decoyAccountId(hash: Buffer): string {
  return `${PREFIX}${hash.readUInt16BE()}`;
}
