import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { withTimeout } from './failures.js';

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
