import { Logger } from '@nestjs/common';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { appError } from '#errors';
import { Metrics } from '#observability';
import { type Acknowledgement, type DeviceQueues, partitionOf, PARTITIONS } from '../device-queues/device-queues.js';
import { Gathered, QueueWrites, RetryingBatchWriter } from './queue-writes.js';

const away = () => appError('SERVICE_UNAVAILABLE');

describe('the retrying batch writer', () => {
  let batches: (readonly number[])[];
  let problems: Error[];
  let dropped: number;
  let writes: RetryingBatchWriter<number>;

  beforeEach(() => {
    vi.useFakeTimers();
    Logger.overrideLogger(false);
    [batches, problems, dropped] = [[], [], 0];
    writes = new RetryingBatchWriter({
      name: 'numbers',
      write: (items) => {
        const problem = problems.shift();
        if (problem !== undefined) return Promise.reject(problem);
        batches.push(items);
        return Promise.resolve();
      },
      limit: 3,
      dropped: () => (dropped += 1),
    });
    return () => vi.useRealTimers();
  });

  it('writes items added together in one batch, in order', async () => {
    for (const item of [1, 2, 3]) writes.add(item);
    await vi.runAllTimersAsync();
    writes.add(4);
    await vi.runAllTimersAsync();
    expect(batches).toEqual([[1, 2, 3], [4]]);
  });

  it('repeats a batch until the store accepts it, before later items', async () => {
    problems = [away(), away()];
    writes.add(1);
    await vi.advanceTimersByTimeAsync(10);
    writes.add(2);
    await vi.runAllTimersAsync();
    expect(batches).toEqual([[1], [2]]);
  });

  it('settles once the store has the items, and not before', async () => {
    writes.add(1);
    let isSettled = false;
    const settled = writes.settled().then(() => (isSettled = true));
    await vi.advanceTimersByTimeAsync(1);
    expect(isSettled).toBe(false);
    await vi.runAllTimersAsync();
    await settled;
    await writes.settled();
  });

  it('does not keep its watchers waiting while the store is unavailable', async () => {
    problems = [away(), away()];
    writes.add(1);
    const settled = expect(writes.settled()).rejects.toThrow(away());
    await vi.advanceTimersByTimeAsync(10);
    await settled;
    await expect(writes.settled()).rejects.toThrow(away());
    await vi.runAllTimersAsync();
    await writes.settled();
  });

  it('gives up a batch that can never be written, and continues', async () => {
    problems = [new Error('a mistake of ours')];
    writes.add(1);
    await vi.advanceTimersByTimeAsync(10);
    writes.add(2);
    await vi.runAllTimersAsync();
    await writes.settled();
    expect(batches).toEqual([[2]]);
  });

  it('drops items over its limit', async () => {
    for (const item of [1, 2, 3, 4]) writes.add(item);
    await vi.runAllTimersAsync();
    expect(batches).toEqual([[1, 2, 3]]);
    expect(dropped).toBe(1);
  });

  it('stops at a time limit while the store is unavailable', async () => {
    problems = Array.from({ length: 1_000 }, away);
    writes.add(1);
    const closed = writes.close(2_000);
    await vi.advanceTimersByTimeAsync(2_001);
    await closed;
    await vi.runAllTimersAsync();
    expect(batches).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('the writes of a connector', () => {
  it('wait for an unavailable part of the store only where it holds their device', async () => {
    const [appId, written] = ['app', [] as string[]];
    const [away, here] = ['device-1', 'device-2'].map((installationId) => ({ appId, installationId }));
    const [awayShard, hereShard] = [partitionOf(away!), partitionOf(here!)];
    let isAway = true;
    const write = (items: readonly { readonly device: Acknowledgement['device'] }[]) => {
      if (isAway && items.some(({ device }) => partitionOf(device) === awayShard))
        return Promise.reject(appError('SERVICE_UNAVAILABLE'));
      written.push(...items.map(({ device }) => device.installationId));
      return Promise.resolve();
    };
    const queues: Partial<DeviceQueues> = {
      shards: PARTITIONS,
      shardOf: partitionOf,
      acknowledge: write,
      disconnect: write,
    };
    const writes = new QueueWrites(queues as DeviceQueues, new Metrics());
    for (const [device, shard] of [
      [away!, awayShard],
      [here!, hereShard],
    ] as const) {
      writes.acknowledge(shard, { device, refs: [], reportedUpTo: 0 });
      writes.disconnect(device, { node: 'node', session: 'session' });
    }
    await expect(writes.acknowledged(awayShard)).rejects.toThrow();
    await writes.acknowledged(hereShard);
    await vi.waitFor(() => {
      expect(written).toEqual(['device-2', 'device-2']);
    });
    isAway = false;
    await writes.close();
    expect(written).toEqual(['device-2', 'device-2', 'device-1', 'device-1']);
  });
});

describe('work that is gathered', () => {
  let batches: number[][];
  let problem: Error | undefined;
  let work: Gathered<{ readonly weight: number }>;

  beforeEach(() => {
    vi.useRealTimers();
    [batches, problem] = [[], undefined];
    work = new Gathered({
      work: async (items) => {
        batches.push(items.map(({ weight }) => weight));
        await new Promise((resolve) => setImmediate(resolve));
        if (problem !== undefined) throw problem;
      },
      weightOf: ({ weight }) => weight,
      limit: 10,
    });
  });

  const addAll = (...weights: number[]) => Promise.allSettled(weights.map((weight) => work.add({ weight })));

  it('is done in order, together up to the limit, and an item over it alone', async () => {
    await addAll(4, 6, 1, 12, 3, 3);
    expect(batches).toEqual([[4, 6], [1], [12], [3, 3]]);
  });

  it('continues after a failure, which one item receives', async () => {
    problem = new Error('a fault');
    const failed = await addAll(4, 6);
    problem = undefined;
    await addAll(5);
    expect(failed.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
    expect(batches).toEqual([[4, 6], [5]]);
  });

  it('is settled once all items so far are done', async () => {
    void addAll(7, 7);
    await work.settled();
    expect(batches).toEqual([[7], [7]]);
  });
});
