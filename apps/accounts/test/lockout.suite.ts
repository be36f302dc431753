import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import type { LoginMethod } from '#contracts';
import { eventually, unique } from '#testing';
import {
  LOCKOUT_LIMITS,
  type LockoutLimits,
  type LockoutStore,
  type LockoutSubject,
} from '../src/lockout/lockout.rules.js';

const LOCKING = LOCKOUT_LIMITS.lockingFailure;
/** Replaces minutes; long enough for the steps of a test on a busy machine. */
const SHORT_MS = 2_000;

/** A lockout store, as one process uses it. */
interface LockoutAdapter {
  readonly name: string;
  readonly open: (limits: LockoutLimits) => LockoutStore;
  /** The number of records of an application in the store. */
  readonly rowsOf: (appId: string) => Promise<number>;
}

/** The contract of every lockout store. */
export function describeLockout({ name, open, rowsOf }: LockoutAdapter): void {
  describe(`the lockout in ${name}`, () => {
    let patient: LockoutStore;
    let user: LockoutSubject;
    let attempts = 0;

    beforeEach(() => {
      patient = open(LOCKOUT_LIMITS);
      user = newUser();
    });

    const newUser = () => ({ appId: unique('app'), userId: unique('user') });
    const result = (id: string, isCorrect: boolean, method: LoginMethod = 'username') => ({ id, isCorrect, method });
    const newId = () => `attempt-${(attempts += 1)}`;
    const attempt = async (store: LockoutStore, isCorrect: boolean, subject = user) => {
      const id = newId();
      const { kind } = await store.reserve(subject, id);
      return kind === 'reserved' ? (await store.settle(subject, result(id, isCorrect))).kind : kind;
    };
    const fail = async (store: LockoutStore, times: number, subject = user) => {
      const outcomes: string[] = [];
      for (let index = 0; index < times; index += 1) outcomes.push(await attempt(store, false, subject));
      return outcomes;
    };
    const reserveMany = (store: LockoutStore, count: number, subject = user) => {
      const ids = Array.from({ length: count }, newId);
      return Promise.all(ids.map(async (id) => ({ id, ...(await store.reserve(subject, id)) })));
    };

    it('counts six failures; the seventh locks, and right ones are refused like wrong ones', async () => {
      expect(await fail(patient, LOCKING - 1)).toEqual(Array(LOCKING - 1).fill('settled'));
      const id = newId();
      await patient.reserve(user, id);
      expect(await patient.settle(user, result(id, false))).toEqual({
        kind: 'locked',
        remainingMs: LOCKOUT_LIMITS.lockMs,
        isLockNew: true,
      });
      expect([await attempt(patient, true), await attempt(patient, false)]).toEqual(['locked', 'locked']);
      expect(await patient.find(user)).toMatchObject({ lockedUntil: expect.any(Date) as Date });
    });

    it('a success removes no failures', async () => {
      await fail(patient, LOCKING - 1);
      expect(await attempt(patient, true)).toBe('settled');
      expect((await patient.find(user)).failures.length).toBe(LOCKING - 1);
      expect(await attempt(patient, false)).toBe('locked');
    });

    it('returns how long the lock lasts, which attempts do not prolong', async () => {
      await fail(patient, LOCKING);
      const { lockedUntil } = await patient.find(user);
      const [first, second] = [await patient.reserve(user, newId()), await patient.reserve(user, newId())];
      const remaining = [first, second].map((outcome) => (outcome.kind === 'locked' ? outcome.remainingMs : 0));
      expect(remaining[0]).toBeGreaterThan(LOCKOUT_LIMITS.lockMs - 5_000);
      expect(remaining[1]).toBeLessThanOrEqual(remaining[0]!);
      expect((await patient.find(user)).lockedUntil).toEqual(lockedUntil);
      const lockedForMs = await patient.lockedForMs(user);
      expect(lockedForMs).toBeGreaterThan(LOCKOUT_LIMITS.lockMs - 5_000);
      expect(lockedForMs).toBeLessThanOrEqual(remaining[1]!);
    });

    it('verifies seven of a hundred parallel attempts', async () => {
      const outcomes = await reserveMany(patient, 100);
      const reserved = outcomes.filter(({ kind }) => kind === 'reserved');
      expect([reserved.length, outcomes.filter(({ kind }) => kind === 'full').length]).toEqual([LOCKING, 93]);
      const settled = await Promise.all(reserved.map(({ id }) => patient.settle(user, result(id, false))));
      expect(settled.filter(({ kind }) => kind === 'settled')).toHaveLength(LOCKING - 1);
      expect(settled.filter(({ isLockNew }) => isLockNew)).toHaveLength(1);
      expect((await reserveMany(patient, 20)).every(({ kind }) => kind === 'locked')).toBe(true);
    });

    it('a success among parallel failures wipes none of them', async () => {
      const reserved = await reserveMany(patient, LOCKING);
      await Promise.all(reserved.map(({ id }, index) => patient.settle(user, result(id, index === 3))));
      expect((await patient.find(user)).failures.length).toBe(LOCKING - 1);
      expect(await attempt(patient, false)).toBe('locked');
    });

    it('releases the reservation of an attempt without a result', async () => {
      const [first] = await reserveMany(patient, LOCKING);
      expect(await attempt(patient, true)).toBe('full');
      await patient.release(user, first!.id);
      expect(await attempt(patient, true)).toBe('settled');
      expect((await patient.find(user)).failures.length).toBe(0);
    });

    it('does not return a late result, and counts it if it is wrong', async () => {
      const store = open({ ...LOCKOUT_LIMITS, reservationMs: 100 });
      const [right, wrong] = await reserveMany(store, 2);
      await sleep(150);
      expect(await store.settle(user, result(right!.id, true))).toEqual({ kind: 'late', isLockNew: false });
      expect(await store.settle(user, result(wrong!.id, false))).toEqual({ kind: 'late', isLockNew: false });
      expect((await store.find(user)).failures.length).toBe(1);
    });

    it('locks by a late failure without returning it, and refuses pending attempts', async () => {
      const [brief, long] = [open({ ...LOCKOUT_LIMITS, reservationMs: 100 }), patient];
      await fail(patient, LOCKING - 1);
      const [late] = await reserveMany(brief, 1);
      await sleep(150);
      const [pending] = await reserveMany(long, 1);
      expect(await patient.settle(user, result(late!.id, false))).toEqual({ kind: 'late', isLockNew: true });
      expect(await patient.settle(user, result(pending!.id, true))).toMatchObject({
        kind: 'locked',
        isLockNew: false,
      });
    });

    it('clear unlocks, with the count at zero', async () => {
      await fail(patient, LOCKING);
      await patient.clear(user);
      expect(await patient.find(user)).toEqual({ lockedUntil: undefined, failures: [] });
      expect(await patient.list(user.appId, { limit: 10 })).toEqual([]);
      expect(await fail(patient, LOCKING)).toEqual([...Array<string>(LOCKING - 1).fill('settled'), 'locked']);
    });

    it('clears failures, and keeps pending attempts', async () => {
      await fail(patient, 2);
      const pending = (await reserveMany(patient, LOCKING)).find(({ kind }) => kind === 'reserved');
      await patient.clear(user);
      expect((await patient.find(user)).failures.length).toBe(0);
      expect(await patient.settle(user, result(pending!.id, false))).toEqual({ kind: 'settled', isLockNew: false });
      expect((await patient.find(user)).failures.length).toBe(1);
    });

    it('counts each user of each application apart', async () => {
      const others = [
        { ...user, userId: unique('user') },
        { ...user, appId: unique('app') },
      ];
      await fail(patient, LOCKING);
      for (const other of others) expect(await attempt(patient, true, other)).toBe('settled');
      expect(await patient.list(others[1]!.appId, { limit: 10 })).toEqual([]);
    });

    it.each([
      ['a:b', 'c', 'a', 'b:c'],
      ['a}:b', 'c', 'a', 'b}:c'],
      ['{a}', 'b', 'a', 'b'],
      ["'; DROP TABLE accounts.lockouts; --", '"', "'", '__proto__'],
      ['a\nb', '*', 'a', '%'],
      ['名前', 'é', '名前', 'e\u0301'],
    ])('keeps ids apart, whatever characters they contain: %j %j', async (appId, userId, otherApp, otherUser) => {
      const [one, other] = [
        { appId, userId },
        { appId: otherApp, userId: otherUser },
      ];
      await fail(patient, LOCKING, one);
      expect([await attempt(patient, true, one), await attempt(patient, true, other)]).toEqual(['locked', 'settled']);
      expect((await patient.list(appId, { limit: 10 })).map((found) => found.userId)).toEqual([userId]);
      await patient.clear(one);
    });

    it('lists the locked users page by page, in the order in which their locks end', async () => {
      const users = Array.from({ length: 5 }, () => ({ ...user, userId: unique('user') }));
      for (const each of users) {
        await fail(patient, LOCKING, each);
        // Locks that end in the same millisecond are ordered by the users' ids.
        await sleep(2);
      }
      const all = await patient.list(user.appId, { limit: 10 });
      expect(all.map(({ userId }) => userId)).toEqual(users.map(({ userId }) => userId));
      const first = await patient.list(user.appId, { limit: 2 });
      const second = await patient.list(user.appId, { limit: 2, after: first[1] });
      const third = await patient.list(user.appId, { limit: 2, after: second[1] });
      expect([...first, ...second, ...third]).toEqual(all);
      expect(await patient.list(user.appId, { limit: 2, after: third[0] })).toEqual([]);
    });

    it('returns the locks of some users at once, without those that are not locked', async () => {
      const [locked, other, free] = ['locked', 'other', 'free'].map((name) => ({ ...user, userId: unique(name) }));
      await fail(patient, LOCKING, locked);
      await fail(patient, LOCKING, other);
      await fail(patient, 1, free);
      const { lockedUntil } = await patient.find(locked!);
      expect(await patient.locksOf(user.appId, [free!.userId, locked!.userId, 'unknown'])).toEqual([
        { userId: locked!.userId, lockedUntil },
      ]);
      const brief = open({ ...LOCKOUT_LIMITS, lockMs: 1 });
      await fail(brief, LOCKING, free);
      await sleep(5);
      expect(await patient.locksOf(user.appId, [free!.userId])).toEqual([]);
    });

    it('pages through locks that end in the same millisecond', async () => {
      const store = open({ ...LOCKOUT_LIMITS, lockingFailure: 1 });
      const users = Array.from({ length: 40 }, () => ({ ...user, userId: unique('user') }));
      await Promise.all(users.map((each) => fail(store, 1, each)));
      const all = await store.list(user.appId, { limit: 100 });
      const paged: typeof all = [];
      for (let page = await store.list(user.appId, { limit: 3 }); page.length > 0;) {
        paged.push(...page);
        page = await store.list(user.appId, { limit: 3, after: page.at(-1) });
      }
      expect(paged).toEqual(all);
      expect(new Set(paged.map(({ userId }) => userId)).size).toBe(users.length);
    });

    // They wait: each at once, with a user of its own.
    describe.concurrent('as time passes', () => {
      it('keeps time and method of the failures, and those of a lock as long as it lasts', async () => {
        const own = newUser();
        const store = open({ ...LOCKOUT_LIMITS, lockMs: SHORT_MS });
        const methods = ['username', 'email', 'phone', 'oldPassword', 'code', 'email', 'code'] as const;
        const startedAt = Date.now();
        for (const [index, method] of methods.entries()) {
          const id = newId();
          await store.reserve(own, id);
          await store.settle(own, result(id, false, method));
          // Failures of the same millisecond have no order.
          await sleep(2);
          expect((await store.find(own)).failures.map((failure) => failure.method)).toEqual(
            methods.slice(0, index + 1),
          );
        }
        const { lockedUntil, failures } = await store.find(own);
        expect(lockedUntil?.getTime()).toBe(failures[6]!.atMs + SHORT_MS);
        expect(Math.abs(failures[0]!.atMs - startedAt)).toBeLessThan(60_000);
        await eventually(async () => {
          expect(await store.find(own)).toEqual({ lockedUntil: undefined, failures: [] });
        });
      });

      it('is not locked before the failure that locks, nor when the lock is over', async () => {
        const own = newUser();
        expect(await patient.lockedForMs(own)).toBe(0);
        const store = open({ ...LOCKOUT_LIMITS, lockMs: SHORT_MS });
        await fail(store, LOCKING - 1, own);
        expect(await store.lockedForMs(own)).toBe(0);
        await fail(store, 1, own);
        expect(await store.lockedForMs(own)).toBeGreaterThan(0);
        await eventually(async () => {
          expect(await store.lockedForMs(own)).toBe(0);
        });
      });

      it('drops each failure at the end of its window', async () => {
        const own = newUser();
        const store = open({ ...LOCKOUT_LIMITS, windowMs: SHORT_MS });
        await fail(store, 3, own);
        await sleep(SHORT_MS / 2);
        expect(await fail(store, 3, own)).not.toContain('locked');
        await eventually(async () => {
          expect((await store.find(own)).failures.length).toBe(3);
        });
        expect(await fail(store, 3, own)).not.toContain('locked');
        expect(await attempt(store, false, own)).toBe('locked');
      });

      it('opens by itself, and starts to count at zero', async () => {
        const own = newUser();
        const store = open({ ...LOCKOUT_LIMITS, lockMs: SHORT_MS });
        await fail(store, LOCKING, own);
        expect(await attempt(store, true, own)).toBe('locked');
        await eventually(async () => {
          expect(await store.find(own)).toEqual({ lockedUntil: undefined, failures: [] });
        });
        expect(await attempt(store, true, own)).toBe('settled');
        expect(await fail(store, LOCKING, own)).toEqual([...Array<string>(LOCKING - 1).fill('settled'), 'locked']);
      });

      it('releases the reservations of abandoned attempts', async () => {
        const own = newUser();
        const store = open({ ...LOCKOUT_LIMITS, reservationMs: SHORT_MS });
        await reserveMany(store, LOCKING, own);
        expect(await attempt(store, true, own)).toBe('full');
        await eventually(async () => {
          expect(await attempt(store, true, own)).toBe('settled');
        });
        expect((await store.find(own)).failures.length).toBe(0);
      });

      it('stores nothing that has expired', async () => {
        const own = newUser();
        const limits = { windowMs: SHORT_MS, lockMs: SHORT_MS, reservationMs: SHORT_MS };
        const store = open({ ...LOCKOUT_LIMITS, ...limits });
        await fail(store, LOCKING, own);
        await fail(store, 3, { ...own, userId: 'failed' });
        await store.reserve({ ...own, userId: 'reserved' }, newId());
        expect(await rowsOf(own.appId)).toBeGreaterThanOrEqual(3);
        await eventually(async () => {
          // An attempt of another user also removes expired records.
          await attempt(store, true, { appId: unique('app'), userId: 'other' });
          expect(await rowsOf(own.appId)).toBe(0);
        });
      });
    });

    it('stores nothing of successful attempts', async () => {
      expect(await attempt(patient, true)).toBe('settled');
      expect(await rowsOf(user.appId)).toBe(0);
    });
  });
}
