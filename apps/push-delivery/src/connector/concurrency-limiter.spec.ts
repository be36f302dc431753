import { Logger } from '@nestjs/common';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { appError } from '#errors';
import { ConcurrencyLimiter } from './queue-pages.js';

describe('bounded work', () => {
  let begun: string[];
  let ends: { readonly done: () => void; readonly fail: (error: Error) => void }[];
  let work: ConcurrencyLimiter<string>;

  beforeEach(() => {
    vi.useFakeTimers();
    Logger.overrideLogger(false);
    [begun, ends] = [[], []];
    work = new ConcurrencyLimiter((item) => {
      begun.push(item);
      return new Promise((done, fail) => ends.push({ done, fail }));
    }, 2);
    return () => vi.useRealTimers();
  });
  const settle = () => vi.advanceTimersByTimeAsync(0);

  it('is done for so many at once, first come first served', async () => {
    for (const item of ['a', 'b', 'c', 'd']) work.add(item);
    expect(begun).toEqual(['a', 'b']);
    ends[0]!.done();
    await settle();
    expect(begun).toEqual(['a', 'b', 'c']);
  });

  it('is done once for what waits twice, and not for what went away', async () => {
    for (const item of ['a', 'b', 'c', 'c', 'd']) work.add(item);
    work.forget('d');
    for (const { done } of ends) done();
    await settle();
    expect(begun).toEqual(['a', 'b', 'c']);
  });

  it('rests while what it needs is away, and then does it again', async () => {
    work.add('a');
    ends[0]!.fail(appError('SERVICE_UNAVAILABLE'));
    await settle();
    work.add('b');
    expect(begun).toEqual(['a']);
    await vi.advanceTimersByTimeAsync(500);
    expect(begun).toEqual(['a', 'a', 'b']);
  });

  it('gives up what fails otherwise, and goes on', async () => {
    for (const item of ['a', 'b', 'c']) work.add(item);
    ends[0]!.fail(new Error('a mistake of ours'));
    await settle();
    expect(begun).toEqual(['a', 'b', 'c']);
  });

  it('ends at once where it is closed', async () => {
    for (const item of ['a', 'b', 'c']) work.add(item);
    ends[0]!.fail(appError('SERVICE_UNAVAILABLE'));
    work.close();
    await vi.runAllTimersAsync();
    expect(begun).toEqual(['a', 'b']);
  });
});
