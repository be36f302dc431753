import type { Logger } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { appError, ServerAway } from '#errors';
import { ClaimingWorker, PollingWorker } from './polling-worker.js';

const settle = () => vi.advanceTimersByTimeAsync(0);

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('the polling worker', () => {
  let rounds: number;
  let more: number;
  let worker: PollingWorker;
  const begin = (maxWaitMs?: () => number) => {
    [rounds, more] = [0, 0];
    const round = () => Promise.resolve((rounds += 1) <= more);
    worker = new PollingWorker(maxWaitMs === undefined ? { round } : { round, maxWaitMs });
  };
  afterEach(() => worker.stop());

  it('repeats rounds while more is due, then waits for a second', async () => {
    begin();
    more = 2;
    worker.start();
    await settle();
    expect(rounds).toBe(3);
    await vi.advanceTimersByTimeAsync(999);
    expect(rounds).toBe(3);
    await vi.advanceTimersByTimeAsync(1);
    expect(rounds).toBe(4);
  });

  it('begins a round when it is woken', async () => {
    begin();
    worker.start();
    await settle();
    worker.wake();
    await settle();
    expect(rounds).toBe(2);
  });

  it('waits for less than a second where the worker wants it', async () => {
    begin(() => 100);
    worker.start();
    await vi.advanceTimersByTimeAsync(250);
    expect(rounds).toBe(3);
  });

  it('begins no round after the stop, and leaves no timer', async () => {
    begin();
    worker.start();
    await settle();
    await worker.stop();
    expect(vi.getTimerCount()).toBe(0);
    worker.wake();
    await settle();
    expect(rounds).toBe(1);
  });
});

describe('the claiming worker', () => {
  let due: string[];
  let begun: string[];
  let ends: (() => void)[];
  let slots: number;
  let problem: Error | undefined;
  const logger = { debug: vi.fn(), warn: vi.fn(), log: vi.fn() };
  let worker: ClaimingWorker<string>;

  beforeEach(() => {
    [due, begun, ends, slots, problem] = [[], [], [], 2, undefined];
    worker = new ClaimingWorker({
      slots: () => slots,
      claim: (limit) => {
        if (problem !== undefined) return Promise.reject(problem);
        const items = due.splice(0, limit);
        return Promise.resolve({ items, isMoreDue: items.length === limit });
      },
      work: (item) => {
        begun.push(item);
        return new Promise((resolve) => ends.push(resolve));
      },
      logger: logger as unknown as Logger,
      claiming: 'claiming items',
    });
    vi.clearAllMocks();
  });
  const stop = async () => {
    await worker.stopClaiming();
    for (const end of ends) end();
    await worker.finished();
  };

  it('claims as many items as it can start, and the next one when one has ended', async () => {
    due = ['a', 'b', 'c', 'd'];
    worker.start();
    await settle();
    expect([begun, due]).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ]);
    ends[0]!();
    await settle();
    expect(begun).toEqual(['a', 'b', 'c']);
    await stop();
  });

  it('claims nothing without a slot, and looks again after the wait', async () => {
    [due, slots] = [['a'], 0];
    worker.start();
    await settle();
    expect(begun).toEqual([]);
    slots = 1;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(begun).toEqual(['a']);
    await stop();
  });

  it('logs a failed claim, at debug where the database is unreachable, and retries', async () => {
    [due, problem] = [['a'], new Error('of ours')];
    worker.start();
    await settle();
    expect(logger.warn).toHaveBeenCalledWith('claiming items failed: of ours');
    problem = appError('SERVICE_UNAVAILABLE', { cause: new ServerAway('unreachable') });
    await vi.advanceTimersByTimeAsync(1_000);
    expect(logger.debug).toHaveBeenCalledOnce();
    problem = undefined;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(logger.log).toHaveBeenCalledWith('claiming items succeeds again');
    expect(begun).toEqual(['a']);
    await stop();
  });

  it('warns once of a reachable database that cannot serve claims', async () => {
    problem = appError('SERVICE_UNAVAILABLE', { cause: new Error('PostgreSQL: 53100') });
    worker.start();
    await vi.advanceTimersByTimeAsync(3_000);
    expect(logger.warn).toHaveBeenCalledExactlyOnceWith('claiming items failed: PostgreSQL: 53100');
    await stop();
  });

  it('finishes the items in progress after the stop, and claims no more', async () => {
    due = ['a', 'b', 'c'];
    worker.start();
    await settle();
    await worker.stopClaiming();
    let isFinished = false;
    const finished = worker.finished().then(() => (isFinished = true));
    await settle();
    expect(isFinished).toBe(false);
    for (const end of ends) end();
    await finished;
    expect(begun).toEqual(['a', 'b']);
  });
});
