import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { appError } from './errors.js';
import { Backoff, whileUnavailable, withTimeout } from './failures.js';

const never = new Promise<string>(() => undefined);

describe('withTimeout', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('resolves with the work, and leaves no timer', async () => {
    expect(await withTimeout(Promise.resolve('done'), 1_000, () => 'late')).toBe('done');
    expect(vi.getTimerCount()).toBe(0);
  });

  it('rejects with the work, and leaves no timer', async () => {
    await expect(withTimeout(Promise.reject(new Error('failed')), 1_000)).rejects.toThrow('failed');
    expect(vi.getTimerCount()).toBe(0);
  });

  it('resolves after the timeout: with undefined, or with the given result', async () => {
    const results = Promise.all([withTimeout(never, 1_000), withTimeout(never, 1_000, () => 'late')]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await results).toEqual([undefined, 'late']);
  });

  it('rejects after the timeout where the callback throws', async () => {
    const result = withTimeout(never, 1_000, () => {
      throw new Error('no answer');
    });
    const rejection = expect(result).rejects.toThrow('no answer');
    await vi.advanceTimersByTimeAsync(1_000);
    await rejection;
  });

  it('ignores a failure of the work after the timeout', async () => {
    const work = new Promise<string>((_, reject) => setTimeout(reject, 2_000, new Error('too late')));
    const result = withTimeout(work, 1_000);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(await result).toBeUndefined();
  });
});

describe('the waiting times between attempts', () => {
  it.each([
    { backoff: new Backoff(), expected: [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000] },
    { backoff: new Backoff(30_000, 1_000), expected: [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000] },
  ])('double from $expected.0 ms to the longest', ({ backoff, expected }) => {
    expect(backoff.hasBegun).toBe(false);
    expect(expected.map(() => backoff.next())).toEqual(expected);
    expect(backoff.hasBegun).toBe(true);
    backoff.reset();
    expect([backoff.hasBegun, backoff.next()]).toEqual([false, expected[0]]);
  });
});

const unavailable = () => Promise.reject(appError('SERVICE_UNAVAILABLE'));

describe('an attempt while a dependency is unavailable', () => {
  it('is repeated until it works', async () => {
    let attempts = 0;
    const attempt = () => (++attempts < 3 ? unavailable() : Promise.resolve('done'));
    expect(await whileUnavailable(attempt, new Backoff(1), new AbortController().signal)).toBe('done');
    expect(attempts).toBe(3);
  });

  it('is not repeated after another error', async () => {
    let attempts = 0;
    const attempt = () => {
      attempts += 1;
      return Promise.reject(new Error('a defect'));
    };
    await expect(whileUnavailable(attempt, new Backoff(1), new AbortController().signal)).rejects.toThrow('a defect');
    expect(attempts).toBe(1);
  });

  it('is repeated once more at the end, and then fails', async () => {
    let attempts = 0;
    const attempt = () => {
      attempts += 1;
      return unavailable();
    };
    const end = new AbortController();
    const result = whileUnavailable(attempt, new Backoff(), end.signal).catch((error: unknown) => error);
    await sleep(10);
    end.abort();
    expect(await result).toMatchObject({ errorName: 'SERVICE_UNAVAILABLE' });
    expect(attempts).toBe(2);
  });
});
