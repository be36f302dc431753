import { Logger } from '@nestjs/common';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { appError } from '#errors';
import { RetryingWorkQueue } from './retrying-work.js';

describe('the retrying work queue', () => {
  let begun: string[];
  let ends: { readonly done: () => void; readonly fail: (error: Error) => void }[];
  let work: RetryingWorkQueue<string>;

  beforeEach(() => {
    vi.useFakeTimers();
    Logger.overrideLogger(false);
    [begun, ends] = [[], []];
    work = new RetryingWorkQueue((item) => {
      begun.push(item);
      return new Promise((done, fail) => ends.push({ done, fail }));
    }, 2);
    return () => vi.useRealTimers();
  });
  const settle = () => vi.advanceTimersByTimeAsync(0);

  it('runs up to the limit at once, first come, first served', async () => {
    for (const item of ['a', 'b', 'c', 'd']) work.add(item);
    expect(begun).toEqual(['a', 'b']);
    ends[0]!.done();
    await settle();
    expect(begun).toEqual(['a', 'b', 'c']);
  });

  it('runs an item once if it was added twice, and not if it was removed', async () => {
    for (const item of ['a', 'b', 'c', 'c', 'd']) work.add(item);
    work.forget('d');
    for (const { done } of ends) done();
    await settle();
    expect(begun).toEqual(['a', 'b', 'c']);
  });

  it('pauses while a dependency is unavailable, and then repeats the item', async () => {
    work.add('a');
    ends[0]!.fail(appError('SERVICE_UNAVAILABLE'));
    await settle();
    work.add('b');
    expect(begun).toEqual(['a']);
    await vi.advanceTimersByTimeAsync(500);
    expect(begun).toEqual(['a', 'a', 'b']);
  });

  it('gives up an item that fails for another reason, and continues', async () => {
    for (const item of ['a', 'b', 'c']) work.add(item);
    ends[0]!.fail(new Error('a mistake of ours'));
    await settle();
    expect(begun).toEqual(['a', 'b', 'c']);
  });

  it('stops at once when it is closed', async () => {
    for (const item of ['a', 'b', 'c']) work.add(item);
    ends[0]!.fail(appError('SERVICE_UNAVAILABLE'));
    work.close();
    await vi.runAllTimersAsync();
    expect(begun).toEqual(['a', 'b']);
  });
});
