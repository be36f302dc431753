import { Logger } from '@nestjs/common';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { appError } from '#errors';
import { RetryingWorkQueue } from './queue-writes.js';

describe('the retrying work queue', () => {
  let begun: string[];
  let ends: { readonly done: () => void; readonly fail: (error: Error) => void }[];
  let work: RetryingWorkQueue<ReturnType<typeof item>>;
  const items = new Map<string, { readonly name: string; readonly shard: number }>();
  /** The item of this name, in the shard of its first letter. */
  const item = (name: string) => {
    const made = items.get(name) ?? { name, shard: name.startsWith('a') ? 0 : 1 };
    items.set(name, made);
    return made;
  };
  const add = (...names: string[]) => {
    for (const name of names) work.add(item(name));
  };

  beforeEach(() => {
    vi.useFakeTimers();
    Logger.overrideLogger(false);
    [begun, ends] = [[], []];
    work = new RetryingWorkQueue({
      work: ({ name }) => {
        begun.push(name);
        return new Promise((done, fail) => ends.push({ done, fail }));
      },
      concurrency: 2,
      shards: 2,
    });
    return () => vi.useRealTimers();
  });
  const settle = () => vi.advanceTimersByTimeAsync(0);

  it('runs up to the limit at once, first come, first served', async () => {
    add('a', 'b', 'c', 'd');
    expect(begun).toEqual(['a', 'b']);
    ends[0]!.done();
    await settle();
    expect(begun).toEqual(['a', 'b', 'c']);
  });

  it('runs an item once if it was added twice, and not if it was removed', async () => {
    add('a', 'b', 'c', 'c', 'd');
    work.forget(item('d'));
    for (const { done } of ends) done();
    await settle();
    expect(begun).toEqual(['a', 'b', 'c']);
  });

  it('repeats an item after a pause if a dependency is unavailable, and starts others meanwhile', async () => {
    add('a');
    ends[0]!.fail(appError('SERVICE_UNAVAILABLE'));
    await settle();
    add('b');
    expect(begun).toEqual(['a', 'b']);
    await vi.advanceTimersByTimeAsync(499);
    expect(begun).toEqual(['a', 'b']);
    await vi.advanceTimersByTimeAsync(1);
    expect(begun).toEqual(['a', 'b', 'a']);
  });

  it('starts new items at once, whatever number of items has failed and hangs', async () => {
    add('a1', 'a2', 'a3');
    for (const place of [0, 1, 2]) {
      ends[place]!.fail(appError('SERVICE_UNAVAILABLE'));
      await settle();
    }
    await vi.advanceTimersByTimeAsync(500);
    expect(begun).toEqual(['a1', 'a2', 'a3', 'a1']);
    add('b', 'c');
    expect(begun.slice(4)).toEqual(['b', 'c']);
  });

  it('repeats the failed items of each shard independently', async () => {
    add('a1', 'b1');
    for (const place of [0, 1]) ends[place]!.fail(appError('SERVICE_UNAVAILABLE'));
    await vi.advanceTimersByTimeAsync(0);
    await vi.advanceTimersByTimeAsync(500);
    expect(begun.slice(2)).toEqual(['a1', 'b1']);
    ends[2]!.fail(appError('SERVICE_UNAVAILABLE'));
    ends[3]!.done();
    add('b2');
    ends[4]!.fail(appError('SERVICE_UNAVAILABLE'));
    await vi.advanceTimersByTimeAsync(500);
    expect(begun.slice(5).sort()).toEqual(['a1', 'b2']);
  });

  it('does not repeat a failed item that is removed', async () => {
    add('a');
    ends[0]!.fail(appError('SERVICE_UNAVAILABLE'));
    await settle();
    work.forget(item('a'));
    await vi.runAllTimersAsync();
    expect(begun).toEqual(['a']);
  });

  it('runs a failed item that is added again once, and at once', async () => {
    add('a');
    ends[0]!.fail(appError('SERVICE_UNAVAILABLE'));
    await settle();
    add('a');
    expect(begun).toEqual(['a', 'a']);
    await vi.runAllTimersAsync();
    expect(begun).toEqual(['a', 'a']);
  });

  it('gives up an item that fails for another reason, and continues', async () => {
    add('a', 'b', 'c');
    ends[0]!.fail(new Error('a mistake of ours'));
    await settle();
    expect(begun).toEqual(['a', 'b', 'c']);
  });

  it('stops at once when it is closed', async () => {
    add('a', 'b', 'c');
    ends[0]!.fail(appError('SERVICE_UNAVAILABLE'));
    work.close();
    await vi.runAllTimersAsync();
    expect(begun).toEqual(['a', 'b']);
  });
});
