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
} from './lockout.rules.js';

const { lockingFailure, windowMs, lockMs, reservationMs } = LOCKOUT_LIMITS;
const NOW = 1_000_000_000;
const state = (changes: Partial<AttemptState> = {}): AttemptState => ({
  failedAtMs: [],
  reservations: [],
  lockedUntilMs: undefined,
  ...changes,
});
const failures = (count: number, atMs = NOW) => Array.from({ length: count }, () => atMs);
const places = (count: number, expiresAtMs = NOW + reservationMs) =>
  Array.from({ length: count }, (_, index) => ({ id: `place-${index}`, expiresAtMs }));

const reserveKind = (before: AttemptState, nowMs = NOW) => reserve(before, 'new', nowMs, LOCKOUT_LIMITS).outcome.kind;
const settled = (before: AttemptState, isRight: boolean, nowMs = NOW) =>
  settle(before, { id: 'place-0', isRight }, nowMs, LOCKOUT_LIMITS);

describe('the limits of the lockout', () => {
  it('are those of the specification: more than 6 failures within 15 minutes, for 15 minutes', () => {
    expect([lockingFailure, windowMs / 60_000, lockMs / 60_000]).toEqual([7, 15, 15]);
  });
});

describe('reserve', () => {
  it.each<[string, AttemptState, string]>([
    ['of an unknown user', state(), 'reserved'],
    ['after six failures', state({ failedAtMs: failures(6) }), 'reserved'],
    ['beside six others', state({ reservations: places(6) }), 'reserved'],
    ['where failed and pending are seven', state({ failedAtMs: failures(4), reservations: places(3) }), 'full'],
    ['while locked', state({ lockedUntilMs: NOW + 1 }), 'locked'],
    ['when the lock ends', state({ lockedUntilMs: NOW }), 'reserved'],
    ['when failures leave the window', state({ failedAtMs: failures(7, NOW - windowMs) }), 'reserved'],
    ['just before they do', state({ failedAtMs: failures(7, NOW - windowMs + 1) }), 'full'],
    ['when others have not come to an end', state({ reservations: places(7, NOW) }), 'reserved'],
  ])('%s: %s', (_, before, kind) => {
    expect(reserveKind(before)).toBe(kind);
  });
});

describe('settle', () => {
  it('counts a wrong verdict and releases its reservation', () => {
    const { state: after, outcome } = settled(state({ failedAtMs: failures(2), reservations: places(2) }), false);
    expect(outcome).toEqual({ kind: 'settled', isLockNew: false });
    expect([after.failedAtMs.length, after.reservations.map(({ id }) => id)]).toEqual([3, ['place-1']]);
  });

  it('does not count a right verdict, and keeps earlier failures', () => {
    const before = state({ failedAtMs: failures(6), reservations: places(1) });
    expect(settled(before, true)).toEqual({
      state: { ...before, reservations: [] },
      outcome: { kind: 'settled', isLockNew: false },
    });
  });

  it('locks at the seventh failure, for 15 minutes from then, and clears failures and reservations', () => {
    const before = state({ failedAtMs: failures(6, NOW - windowMs + 1), reservations: places(1) });
    expect(settled(before, false)).toEqual({
      state: state({ lockedUntilMs: NOW + lockMs }),
      outcome: { kind: 'locked', remainingMs: lockMs, isLockNew: true },
    });
  });

  it.each([true, false])('counts nothing while locked, and does not prolong the lock: right %s', (isRight) => {
    const before = state({ lockedUntilMs: NOW + 5_000, reservations: places(1) });
    expect(settled(before, isRight)).toEqual({
      state: before,
      outcome: { kind: 'locked', remainingMs: 5_000, isLockNew: false },
    });
  });

  it('calls a verdict late if its reservation has expired', () => {
    const before = state({ reservations: places(1, NOW) });
    expect(settled(before, true).outcome).toEqual({ kind: 'late', isLockNew: false });
    expect(settled(before, false)).toMatchObject({ state: { failedAtMs: [NOW] }, outcome: { kind: 'late' } });
    const locking = settled(state({ failedAtMs: failures(6) }), false);
    expect(locking.outcome).toEqual({ kind: 'late', isLockNew: true });
    expect(locking.state.lockedUntilMs).toBe(NOW + lockMs);
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
    expect(clear(state({ failedAtMs: failures(3), lockedUntilMs: NOW + 1, reservations }))).toEqual(
      state({ reservations }),
    );
  });

  it.each<[AttemptState, number | undefined]>([
    [state(), undefined],
    [state({ failedAtMs: [NOW - 5, NOW] }), NOW + windowMs],
    [state({ reservations: places(1) }), NOW + reservationMs],
    [state({ lockedUntilMs: NOW + 7 }), NOW + 7],
  ])('of %j expires at %s', (before, until) => {
    expect(expiryOf(before, LOCKOUT_LIMITS)).toBe(until);
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
