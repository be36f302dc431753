import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  type AttemptState,
  clear,
  expiryOf,
  LOCKOUT_LIMITS,
  decoyAccountId,
  release,
  reserve,
  retryAfterSeconds,
  settle,
  shownLockout,
  stateOf,
  storedOf,
} from './lockout.rules.js';

const { lockingFailure, windowMs, lockMs, reservationMs } = LOCKOUT_LIMITS;
const NOW = 1_000_000_000;
const state = (changes: Partial<AttemptState> = {}): AttemptState => ({
  failures: [],
  reservations: [],
  lock: undefined,
  ...changes,
});
const failures = (count: number, atMs = NOW) =>
  Array.from({ length: count }, () => ({ atMs, method: 'email' as const }));
const lockUntil = (untilMs: number) => ({ lock: { untilMs, failures: failures(7) } });
const places = (count: number, expiresAtMs = NOW + reservationMs) =>
  Array.from({ length: count }, (_, index) => ({ id: `place-${index}`, expiresAtMs }));

const reserveKind = (before: AttemptState, nowMs = NOW) => reserve(before, 'new', nowMs, LOCKOUT_LIMITS).outcome.kind;
const settled = (before: AttemptState, isCorrect: boolean, nowMs = NOW) =>
  settle(before, { id: 'place-0', method: 'username', isCorrect }, nowMs, LOCKOUT_LIMITS);

describe('the limits of the lockout', () => {
  it('are those of the specification: more than 6 failures within 15 minutes, for 15 minutes', () => {
    expect([lockingFailure, windowMs / 60_000, lockMs / 60_000]).toEqual([7, 15, 15]);
  });
});

describe('reserve', () => {
  it.each<[string, AttemptState, string]>([
    ['of an unknown user', state(), 'reserved'],
    ['after six failures', state({ failures: failures(6) }), 'reserved'],
    ['beside six others', state({ reservations: places(6) }), 'reserved'],
    ['where failed and pending are seven', state({ failures: failures(4), reservations: places(3) }), 'full'],
    ['while locked', state(lockUntil(NOW + 1)), 'locked'],
    ['when the lock ends', state(lockUntil(NOW)), 'reserved'],
    ['when failures leave the window', state({ failures: failures(7, NOW - windowMs) }), 'reserved'],
    ['just before they do', state({ failures: failures(7, NOW - windowMs + 1) }), 'full'],
    ['when others have not come to an end', state({ reservations: places(7, NOW) }), 'reserved'],
  ])('%s: %s', (_, before, kind) => {
    expect(reserveKind(before)).toBe(kind);
  });
});

describe('settle', () => {
  it('counts a wrong result and releases its reservation', () => {
    const { state: after, outcome } = settled(state({ failures: failures(2), reservations: places(2) }), false);
    expect(outcome).toEqual({ kind: 'settled', isLockNew: false });
    expect([after.failures.length, after.reservations.map(({ id }) => id)]).toEqual([3, ['place-1']]);
  });

  it('does not count a right result, and keeps earlier failures', () => {
    const before = state({ failures: failures(6), reservations: places(1) });
    expect(settled(before, true)).toEqual({
      state: { ...before, reservations: [] },
      outcome: { kind: 'settled', isLockNew: false },
    });
  });

  it('locks at the seventh failure, for 15 minutes from then, and clears failures and reservations', () => {
    const before = state({ failures: failures(6, NOW - windowMs + 1), reservations: places(1) });
    expect(settled(before, false)).toEqual({
      state: state({
        lock: { untilMs: NOW + lockMs, failures: [...before.failures, { atMs: NOW, method: 'username' }] },
      }),
      outcome: { kind: 'locked', remainingMs: lockMs, isLockNew: true },
    });
  });

  it.each([true, false])('counts nothing while locked, and does not prolong the lock: right %s', (isCorrect) => {
    const before = state({ ...lockUntil(NOW + 5_000), reservations: places(1) });
    expect(settled(before, isCorrect)).toEqual({
      state: before,
      outcome: { kind: 'locked', remainingMs: 5_000, isLockNew: false },
    });
  });

  it('calls a result late if its reservation has expired', () => {
    const before = state({ reservations: places(1, NOW) });
    expect(settled(before, true).outcome).toEqual({ kind: 'late', isLockNew: false });
    expect(settled(before, false)).toMatchObject({
      state: { failures: [{ atMs: NOW, method: 'username' }] },
      outcome: { kind: 'late' },
    });
    const locking = settled(state({ failures: failures(6) }), false);
    expect(locking.outcome).toEqual({ kind: 'late', isLockNew: true });
    expect(locking.state.lock?.untilMs).toBe(NOW + lockMs);
  });
});

describe('the remaining state', () => {
  it('after release: the others', () => {
    expect(release(state({ reservations: places(2) }), 'place-0').reservations.map(({ id }) => id)).toEqual([
      'place-1',
    ]);
  });

  it('after clear: the pending attempts', () => {
    const reservations = places(2);
    expect(clear(state({ failures: failures(3), ...lockUntil(NOW + 1), reservations }))).toEqual(
      state({ reservations }),
    );
  });

  it.each<[AttemptState, number | undefined]>([
    [state(), undefined],
    [state({ failures: [...failures(1, NOW - 5), ...failures(1)] }), NOW + windowMs],
    [state({ reservations: places(1) }), NOW + reservationMs],
    [state(lockUntil(NOW + 7)), NOW + 7],
  ])('of %j expires at %s', (before, until) => {
    expect(expiryOf(before, LOCKOUT_LIMITS)).toBe(until);
  });
});

describe('the stored form', () => {
  it('has the members that earlier versions store', () => {
    const lock = { untilMs: NOW + lockMs, failures: failures(1) };
    const attempts = {
      failedAtMs: [NOW],
      doors: ['email'],
      reservations: places(1),
      lockFailures: [{ atMs: NOW, door: 'email' }],
    };
    const whole = state({ failures: failures(1), reservations: places(1), lock });
    expect(storedOf(whole)).toEqual(attempts);
    expect(stateOf({ attempts: storedOf(whole), lockedUntil: new Date(lock.untilMs) })).toEqual(whole);
    expect(stateOf({ attempts: { failedAtMs: [NOW], reservations: [] }, lockedUntil: null })).toEqual(
      state({ failures: [{ atMs: NOW, method: null }] }),
    );
  });
});

describe('the lockout for operators', () => {
  const seven = { failures: [...failures(6, NOW - 1_000), { atMs: NOW, method: 'code' as const }] };
  const at = (ms: number) => new Date(ms).toISOString();

  it('has the failures that count and, under a lock, those that led to it', () => {
    const free = shownLockout({ lockedUntil: undefined, failures: failures(2) }, LOCKOUT_LIMITS);
    expect(free).toMatchObject({ lockedUntil: null, lockedSince: null, failures: 2 });
    const locked = shownLockout({ lockedUntil: new Date(NOW + lockMs), ...seven }, LOCKOUT_LIMITS);
    expect(locked).toMatchObject({ lockedUntil: at(NOW + lockMs), lockedSince: at(NOW), failures: 0 });
    expect(locked.failedLogins.at(-1)).toEqual({ at: at(NOW), method: 'code' });
    expect(locked.failedLogins).toHaveLength(7);
  });
});

describe('Retry-After', () => {
  it.each([
    [1, 1],
    [1_000, 1],
    [1_001, 2],
    [lockMs, 900],
  ])('of %i ms is %i s, so that the lock is over then', (remainingMs, seconds) => {
    expect(retryAfterSeconds(remainingMs)).toBe(seconds);
  });
});

describe('decoyAccountId', () => {
  const idOf = (name: string) => decoyAccountId(createHash('sha256').update(name).digest());

  it('is one of 65,536, stable for a name, and never the id of a user', () => {
    expect(idOf('a')).toBe(idOf('a'));
    expect(new Set(Array.from({ length: 1_000 }, (_, index) => idOf(String(index)))).size).toBeGreaterThan(950);
    expect([decoyAccountId(Buffer.from([0, 0])), decoyAccountId(Buffer.from([255, 255, 9]))]).toEqual(['~0', '~65535']);
  });
});
