import type { FailedLogin, LoginMethod } from '#contracts';

/** The account whose failures are counted together, across login names and endpoints. */
export interface LockoutSubject {
  readonly appId: string;
  readonly userId: string;
}

export interface LockoutLimits {
  /** The number of the failure within the window that locks. Also the maximum of failed and pending attempts together. */
  readonly lockingFailure: number;
  readonly windowMs: number;
  readonly lockMs: number;
  readonly reservationMs: number;
}

/** `full`: pending attempts must be settled first. */
export type ReserveOutcome =
  | { readonly kind: 'reserved' | 'full' }
  | { readonly kind: 'locked'; readonly remainingMs: number };

/** The result of a settled attempt. Only a `settled` result may be returned to the client; `late`: the reservation had expired. */
export type SettleOutcome = (
  | { readonly kind: 'settled' | 'late' }
  | { readonly kind: 'locked'; readonly remainingMs: number }
) & {
  readonly isLockNew: boolean;
};

export interface Lockout {
  readonly userId: string;
  readonly lockedUntil: Date;
}

export interface LockoutStatus {
  readonly lockedUntil: Date | undefined;
  /** The failures within the window; while the user is locked, those that locked it. Oldest first. */
  readonly failures: readonly Failure[];
}

export interface Failure {
  readonly atMs: number;
  /** Null for a failure that a version without methods has stored. */
  readonly method: LoginMethod | null;
}

export interface LockoutPage {
  readonly limit: number;
  readonly after?: Lockout | undefined;
}

export interface AttemptResult {
  readonly id: string;
  readonly method: LoginMethod;
  readonly isCorrect: boolean;
}

/** Transitions are atomic across replicas, by the clock of the store's server. An unreachable store throws SERVICE_UNAVAILABLE. */
export interface LockoutStore {
  reserve(subject: LockoutSubject, id: string): Promise<ReserveOutcome>;
  settle(subject: LockoutSubject, result: AttemptResult): Promise<SettleOutcome>;
  release(subject: LockoutSubject, id: string): Promise<void>;
  clear(subject: LockoutSubject): Promise<void>;
  /** The remaining time of the lock in milliseconds; 0 without a lock. Cheap: logins that verify no secret call it. */
  lockedForMs(subject: LockoutSubject): Promise<number>;
  find(subject: LockoutSubject): Promise<LockoutStatus>;
  list(appId: string, page: LockoutPage): Promise<Lockout[]>;
  locksOf(appId: string, userIds: readonly string[]): Promise<Lockout[]>;
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

/** Times are in milliseconds of the store's clock. */
export interface AttemptState {
  readonly failures: readonly Failure[];
  readonly reservations: readonly Reservation[];
  readonly lock: Lock | undefined;
}

interface Lock {
  readonly untilMs: number;
  readonly failures: readonly Failure[];
}

export interface Transition<Outcome> {
  readonly state: AttemptState;
  readonly outcome: Outcome;
}

export function stateAt(state: AttemptState, nowMs: number, { windowMs }: LockoutLimits): AttemptState {
  return {
    failures: state.failures.filter(({ atMs }) => atMs > nowMs - windowMs),
    reservations: state.reservations.filter(({ expiresAtMs }) => expiresAtMs > nowMs),
    lock: state.lock !== undefined && state.lock.untilMs > nowMs ? state.lock : undefined,
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
  if (state.lock !== undefined) return { state, outcome: lockedFor(state.lock.untilMs - nowMs) };
  if (state.failures.length + state.reservations.length >= limits.lockingFailure)
    return { state, outcome: { kind: 'full' } };
  const reservation = { id, expiresAtMs: nowMs + limits.reservationMs };
  return {
    state: { ...state, reservations: [...state.reservations, reservation] },
    outcome: { kind: 'reserved' },
  };
}

/** A late wrong result counts, but no late one is returned: another attempt may have taken its reservation. Under a lock none counts. */
export function settle(
  before: AttemptState,
  result: AttemptResult,
  nowMs: number,
  limits: LockoutLimits,
): Transition<SettleOutcome> {
  const current = stateAt(before, nowMs, limits);
  if (current.lock !== undefined) {
    return { state: current, outcome: { ...lockedFor(current.lock.untilMs - nowMs), isLockNew: false } };
  }
  const isLate = !current.reservations.some(({ id }) => id === result.id);
  const state = release(current, result.id);
  const outcome = { kind: isLate ? 'late' : 'settled', isLockNew: false } as const;
  if (result.isCorrect) return { state, outcome };
  const failures = [...state.failures, { atMs: nowMs, method: result.method }];
  if (failures.length < limits.lockingFailure) return { state: { ...state, failures }, outcome };
  return {
    // Pending attempts are settled under the lock; after the lock the count starts at zero.
    state: { failures: [], reservations: [], lock: { untilMs: nowMs + limits.lockMs, failures } },
    outcome: isLate ? { kind: 'late', isLockNew: true } : { ...lockedFor(limits.lockMs), isLockNew: true },
  };
}

export function release(state: AttemptState, id: string): AttemptState {
  return { ...state, reservations: state.reservations.filter((reservation) => reservation.id !== id) };
}

export function clear(state: AttemptState): AttemptState {
  return { ...state, failures: [], lock: undefined };
}

export function expiryOf(state: AttemptState, { windowMs }: LockoutLimits): number | undefined {
  const ends = [
    ...state.failures.map(({ atMs }) => atMs + windowMs),
    ...state.reservations.map(({ expiresAtMs }) => expiresAtMs),
    ...(state.lock === undefined ? [] : [state.lock.untilMs]),
  ];
  return ends.length === 0 ? undefined : Math.max(...ends);
}

interface ShownLockout {
  readonly lockedUntil: string | null;
  readonly lockedSince: string | null;
  /** The failures that count now: none under a lock. */
  readonly failures: number;
  readonly failedLogins: FailedLogin[];
}

export function shownLockout({ lockedUntil, failures }: LockoutStatus, { lockMs }: LockoutLimits): ShownLockout {
  const timeOf = (ms: number) => new Date(ms).toISOString();
  return {
    lockedUntil: lockedUntil?.toISOString() ?? null,
    lockedSince: lockedUntil === undefined ? null : timeOf(lockedUntil.getTime() - lockMs),
    failures: lockedUntil === undefined ? failures.length : 0,
    failedLogins: failures.map(({ atMs, method }) => ({ at: timeOf(atMs), method })),
  };
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

/** One of 65,536, to limit the memory of invented names. @param hash keyed, so clients cannot find out which names share an account */
export function decoyAccountId(hash: Buffer): string {
  return `${PREFIX}${hash.readUInt16BE()}`;
}

export const NO_ATTEMPTS: AttemptState = { failures: [], reservations: [], lock: undefined };

/** How PostgreSQL stores attempts; `doors` and `door` are stored names. Earlier versions read and write the first two members only. */
interface StoredAttempts extends Pick<AttemptState, 'reservations'> {
  readonly failedAtMs: readonly number[];
  readonly doors?: readonly Failure['method'][];
  readonly lockFailures?: readonly { readonly atMs: number; readonly door: Failure['method'] }[];
}

export interface StoredLockout {
  readonly attempts: StoredAttempts;
  readonly lockedUntil: Date | null;
}

export function storedOf({ failures, reservations, lock }: AttemptState): StoredAttempts {
  return {
    failedAtMs: failures.map(({ atMs }) => atMs),
    doors: failures.map(({ method }) => method),
    reservations,
    ...(lock === undefined ? {} : { lockFailures: lock.failures.map(({ atMs, method }) => ({ atMs, door: method })) }),
  };
}

export function stateOf({ attempts, lockedUntil }: StoredLockout): AttemptState {
  const { failedAtMs, doors = [], reservations, lockFailures = [] } = attempts;
  const failuresOfLock = lockFailures.map(({ atMs, door }) => ({ atMs, method: door }));
  return {
    failures: failedAtMs.map((atMs, index) => ({ atMs, method: doors[index] ?? null })),
    reservations,
    lock: lockedUntil === null ? undefined : { untilMs: lockedUntil.getTime(), failures: failuresOfLock },
  };
}
