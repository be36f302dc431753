import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ConcurrencyLimiter } from './concurrency-limiter.js';

const UNAVAILABLE = { errorName: 'SERVICE_UNAVAILABLE' };

describe('the concurrency limiter', () => {
  let begun: string[];
  let ends: Map<string, () => void>;

  beforeEach(() => {
    vi.useFakeTimers();
    begun = [];
    ends = new Map();
  });
  afterEach(() => {
    vi.useRealTimers();
  });
  const work = (name: string) => () => {
    begun.push(name);
    return new Promise<string>((resolve) => {
      ends.set(name, () => {
        resolve(`${name} done`);
      });
    });
  };
  const silent = (name: string) => async () => {
    await work(name)();
  };
  const end = async (name: string) => {
    ends.get(name)?.();
    await vi.advanceTimersByTimeAsync(0);
  };

  it('runs work of one key in order, up to its concurrency, and that of other keys beside it', async () => {
    const limiter = new ConcurrencyLimiter({ concurrency: 1 });
    const results = Promise.all(['a1', 'a2', 'b1'].map((name) => limiter.run(work(name), { key: name.charAt(0) })));
    expect(begun).toEqual(['a1', 'b1']);
    await end('a1');
    expect(begun).toEqual(['a1', 'b1', 'a2']);
    await end('a2');
    await end('b1');
    expect(await results).toEqual(['a1 done', 'a2 done', 'b1 done']);
  });

  it('rejects with the work, and starts the next', async () => {
    const limiter = new ConcurrencyLimiter({ concurrency: 1 });
    const failed = limiter.run(() => Promise.reject(new Error('failed')));
    const next = limiter.run(() => Promise.resolve('done'));
    await expect(failed).rejects.toThrow('failed');
    expect(await next).toBe('done');
  });

  it('refuses work where too many of all keys wait, those included that wait for something else', async () => {
    const limiter = new ConcurrencyLimiter({ concurrency: 1, maxWaiting: 2 });
    for (const name of ['a1', 'a2', 'b1']) void limiter.run(work(name), { key: name.charAt(0) });
    void limiter.countWaiting(() => new Promise((resolve) => setTimeout(resolve, 1_000)));
    await expect(limiter.run(work('b2'), { key: 'b' })).rejects.toMatchObject(UNAVAILABLE);
    await vi.advanceTimersByTimeAsync(1_000);
    void limiter.run(work('b3'), { key: 'b' });
    await end('b1');
    expect(begun).toEqual(['a1', 'b1', 'b3']);
  });

  it('refuses work whose turn comes too late, and does not run it', async () => {
    const limiter = new ConcurrencyLimiter({ concurrency: 1 });
    void limiter.run(work('a'));
    const refusal = expect(limiter.run(work('b'), { deadlineMs: performance.now() + 1_000 })).rejects.toMatchObject(
      UNAVAILABLE,
    );
    await vi.advanceTimersByTimeAsync(1_000);
    await refusal;
    await end('a');
    expect(begun).toEqual(['a']);
  });

  it('adds a waiting token once, and forgets it on request', async () => {
    const limiter = new ConcurrencyLimiter({ concurrency: 1 });
    for (const name of ['a', 'b', 'b', 'c', 'd']) limiter.add(name, silent(name));
    limiter.forget('c');
    for (const name of ['a', 'b', 'd']) await end(name);
    expect(begun).toEqual(['a', 'b', 'd']);
  });

  it('starts nothing during a pause, and everything after it that the limit allows', async () => {
    const limiter = new ConcurrencyLimiter({ concurrency: 2 });
    limiter.pause(500);
    for (const name of ['a', 'b', 'c']) limiter.add(name, silent(name));
    expect(begun).toEqual([]);
    await vi.advanceTimersByTimeAsync(500);
    expect(begun).toEqual(['a', 'b']);
  });

  it('starts nothing after it is closed', async () => {
    const limiter = new ConcurrencyLimiter({ concurrency: 1 });
    for (const name of ['a', 'b']) limiter.add(name, silent(name));
    limiter.close();
    limiter.add('c', silent('c'));
    await end('a');
    expect(begun).toEqual(['a']);
  });
});
