import { Logger } from '@nestjs/common';
import { beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { appError } from '#errors';
import { Metrics } from '#observability';
import { Sealer } from '#security';
import type { LockoutStore, ReserveOutcome, SettleOutcome } from './lockout.rules.js';
import { LockoutService, LoginAttemptLimiter } from './lockout.service.js';

const user = { appId: 'app', userId: 'user' };
const unavailable = appError('SERVICE_UNAVAILABLE');

/** A store with planned results; unplanned calls fail. */
class PlannedStore implements LockoutStore {
  reserve = vi.fn<LockoutStore['reserve']>().mockRejectedValue(new Error('not planned'));
  settle = vi.fn<LockoutStore['settle']>().mockRejectedValue(new Error('not planned'));
  release = vi.fn<LockoutStore['release']>().mockRejectedValue(new Error('not planned'));
  clear = vi.fn<LockoutStore['clear']>().mockRejectedValue(new Error('not planned'));
  lockedForMs = vi.fn<LockoutStore['lockedForMs']>().mockRejectedValue(new Error('not planned'));
  find = vi.fn<LockoutStore['find']>().mockRejectedValue(new Error('not planned'));
  list = vi.fn<LockoutStore['list']>().mockRejectedValue(new Error('not planned'));
  locksOf = vi.fn<LockoutStore['locksOf']>().mockRejectedValue(new Error('not planned'));
}

function serviceOver(store: LockoutStore, metrics: Metrics): LockoutService {
  const limiter = new LoginAttemptLimiter({ concurrency: 7, maxWaiting: 10, maxWaitMs: 50 });
  return new LockoutService(store, limiter, metrics, new Sealer('a secret of thirty-two characters, or more'));
}

describe('LockoutService.verify', () => {
  const metrics = new Metrics();
  let store: PlannedStore;
  let service: LockoutService;

  const plan = (reserved: ReserveOutcome, settled?: SettleOutcome) => {
    store.reserve.mockResolvedValue(reserved);
    if (settled !== undefined) store.settle.mockResolvedValue(settled);
  };
  const verify = (isCorrect = true) => service.verify(user, 'email', () => Promise.resolve(isCorrect));

  beforeAll(() => {
    Logger.overrideLogger(false);
  });
  beforeEach(() => {
    metrics.lockouts.reset();
    store = new PlannedStore();
    service = serviceOver(store, metrics);
  });

  it.each([true, false])('reserves, verifies, settles and returns the result: %s', async (isCorrect) => {
    plan({ kind: 'reserved' }, { kind: 'settled', isLockNew: false });
    expect(await verify(isCorrect)).toBe(isCorrect);
    const [[, id]] = store.reserve.mock.calls as [[unknown, string]];
    expect(store.settle.mock.calls).toEqual([[user, { id, method: 'email', isCorrect }]]);
  });

  it('verifies nothing while the user is locked, and returns the remaining time', async () => {
    plan({ kind: 'locked', remainingMs: 1_001 });
    const attempt = vi.fn<() => Promise<boolean>>();
    await expect(service.verify(user, 'email', attempt)).rejects.toMatchObject({
      errorName: 'LOCKED_OUT',
      retryAfterSeconds: 2,
    });
    expect(attempt).not.toHaveBeenCalled();
  });

  it('refuses the failure that locks, and counts the lock', async () => {
    plan({ kind: 'reserved' }, { kind: 'locked', remainingMs: 900_000, isLockNew: true });
    await expect(verify(false)).rejects.toMatchObject({ errorName: 'LOCKED_OUT', retryAfterSeconds: 900 });
    expect(await metrics.registry.getSingleMetricAsString('gatepost_lockouts_total')).toContain(' 1');
  });

  it.each([true, false])('returns no result that comes too late: %s', async (isCorrect) => {
    plan({ kind: 'reserved' }, { kind: 'late', isLockNew: false });
    await expect(verify(isCorrect)).rejects.toMatchObject({ errorName: 'SERVICE_UNAVAILABLE' });
  });

  it('waits for a reservation', async () => {
    store.reserve.mockResolvedValueOnce({ kind: 'full' }).mockResolvedValueOnce({ kind: 'reserved' });
    store.settle.mockResolvedValue({ kind: 'settled', isLockNew: false });
    expect(await verify()).toBe(true);
    expect(new Set(store.reserve.mock.calls.map(([, id]) => id)).size).toBe(1);
  });

  it.each([
    ['in vain', { kind: 'full' }, 'SERVICE_UNAVAILABLE'],
    ['until the lock falls', { kind: 'locked', remainingMs: 5 }, 'LOCKED_OUT'],
  ] as const)('waits %s', async (_, then, errorName) => {
    store.reserve.mockResolvedValueOnce({ kind: 'full' }).mockResolvedValue(then);
    await expect(verify()).rejects.toMatchObject({ errorName });
  });

  it('counts nothing where the attempt throws, and releases the reservation', async () => {
    plan({ kind: 'reserved' });
    store.release.mockResolvedValue();
    await expect(service.verify(user, 'email', () => Promise.reject(unavailable))).rejects.toBe(unavailable);
    expect([store.release.mock.calls.length, store.settle.mock.calls.length]).toEqual([1, 0]);
    store.release.mockRejectedValue(new Error('away'));
    await expect(service.verify(user, 'email', () => Promise.reject(unavailable))).rejects.toBe(unavailable);
  });

  it('fails closed while the store is unavailable, before and after the attempt', async () => {
    store.reserve.mockRejectedValueOnce(unavailable).mockResolvedValue({ kind: 'reserved' });
    store.settle.mockRejectedValue(unavailable);
    await expect(verify()).rejects.toBe(unavailable);
    await expect(verify()).rejects.toBe(unavailable);
  });
});

describe('LockoutService.assertNotLocked', () => {
  const store = new PlannedStore();
  const service = serviceOver(store, new Metrics());

  it('passes without a lock, and returns how long a lock lasts', async () => {
    store.lockedForMs.mockResolvedValueOnce(0).mockResolvedValueOnce(61_500);
    await service.assertNotLocked(user);
    await expect(service.assertNotLocked(user)).rejects.toMatchObject({
      errorName: 'LOCKED_OUT',
      retryAfterSeconds: 62,
    });
  });

  it('fails closed while the store is unavailable', async () => {
    store.lockedForMs.mockRejectedValueOnce(unavailable);
    await expect(service.assertNotLocked(user)).rejects.toBe(unavailable);
  });
});
