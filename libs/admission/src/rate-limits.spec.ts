import { afterEach, describe, expect, it, vi } from 'vitest';
import { MemoryRequestCounter, parseRateLimit } from './rate-limits.js';

describe('MemoryRequestCounter', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it('reports the rest of a window in whole milliseconds, never more than is left', async () => {
    const counter = new MemoryRequestCounter();
    for (let client = 0; client < 1_000; client += 1)
      expect((await counter.count(String(client), 60)).resetMs).toBe(60_000);
  });

  it('reports 1 ms at least, because caches treat a lifetime of 0 as endless', async () => {
    const now = vi.spyOn(performance, 'now').mockReturnValue(1_000);
    const counter = new MemoryRequestCounter();
    await counter.count('client', 1);
    now.mockReturnValue(1_999.9);
    expect(await counter.count('client', 1)).toEqual({ count: 2, resetMs: 1 });
  });

  it('drops the least recently used key where there are too many', async () => {
    const counter = new MemoryRequestCounter(2);
    await counter.count('first', 60);
    await counter.count('second', 60);
    await counter.count('first', 60);
    await counter.count('third', 60);
    expect((await counter.count('first', 60)).count).toBe(3);
    expect((await counter.count('second', 60)).count).toBe(1);
  });
});

describe('parseRateLimit', () => {
  it('reads a count and a window, or no limit', () => {
    expect(parseRateLimit('30/3600')).toEqual({ count: 30, windowSeconds: 3_600 });
    expect(parseRateLimit('off')).toBeUndefined();
  });
});
