import { Logger } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it, type Mock, vi } from 'vitest';
import { appError, ServerAway } from '#errors';
import { Metrics } from '#observability';
import { eventually } from '#testing';
import { PeriodicJob } from './periodic-job.js';

const INTERVAL_MS = 20;
const REFUSED = new Error('permission denied');
const AWAY = appError('SERVICE_UNAVAILABLE', { cause: new ServerAway('PostgreSQL: ECONNREFUSED') });

type ProcessBatch = () => Promise<boolean>;

class SampleJob extends PeriodicJob {
  constructor(
    metrics: Metrics,
    readonly processBatch: ProcessBatch,
  ) {
    super({ name: 'mail-cleanup', intervalMs: INTERVAL_MS, metrics });
  }
}

describe('a periodic job', () => {
  let metrics: Metrics;
  let job: SampleJob | undefined;
  let [warn, log]: [Mock, Mock] = [vi.fn(), vi.fn()];

  const start = (processBatch: ProcessBatch) => {
    job = new SampleJob(metrics, processBatch);
    job.onApplicationBootstrap();
  };
  const lastSuccess = async () =>
    Number(
      /^gatepost_job_last_success_timestamp_seconds\{name="mail-cleanup"\} (.+)$/m.exec(await metrics.expose())?.[1],
    );
  const called = (mock: Mock, times: number) =>
    eventually(() => {
      expect(mock.mock.calls.length).toBeGreaterThanOrEqual(times);
    });

  beforeEach(() => {
    metrics = new Metrics();
    warn = vi.spyOn(Logger.prototype, 'warn').mockReturnValue(undefined);
    log = vi.spyOn(Logger.prototype, 'log').mockReturnValue(undefined);
  });
  afterEach(async () => {
    await job?.beforeApplicationShutdown();
    metrics.registry.clear();
    vi.restoreAllMocks();
  });

  it('reports 0 as the time of the last success until a round is complete', async () => {
    let end: (() => void) | undefined;
    start(() => {
      return new Promise((resolve) => {
        end = () => {
          resolve(false);
        };
      });
    });
    expect(await lastSuccess()).toBe(0);
    await eventually(() => {
      expect(end).toBeDefined();
    });
    expect(await lastSuccess()).toBe(0);
    const before = Date.now() / 1_000;
    end?.();
    await eventually(async () => {
      expect(await lastSuccess()).toBeGreaterThanOrEqual(before);
    });
  });

  it('processes batches until none is left', async () => {
    const batches = [true, true, false];
    const processBatch = vi.fn(() => Promise.resolve(batches.shift() ?? false));
    start(processBatch);
    await called(processBatch, 3);
    expect(batches).toEqual([]);
  });

  it('ends a round after an interval, and goes on in the next one', async () => {
    const processBatch = vi.fn(async () => {
      await new Promise((resolve) => setTimeout(resolve, INTERVAL_MS / 4));
      return true;
    });
    start(processBatch);
    await eventually(async () => {
      expect(await lastSuccess()).toBeGreaterThan(0);
    });
    const { length } = processBatch.mock.calls;
    await called(processBatch, length + 2);
  });

  it('starts no second round while one runs, however long it takes', async () => {
    let [running, most] = [0, 0];
    const processBatch = vi.fn(async () => {
      most = Math.max(most, (running += 1));
      await new Promise((resolve) => setTimeout(resolve, INTERVAL_MS * 3));
      running -= 1;
      return false;
    });
    start(processBatch);
    await called(processBatch, 5);
    expect(most).toBe(1);
  });

  it('warns of a failure once while its reason stays the same, keeps the time of the last success, and reports the end', async () => {
    const processBatch = vi.fn<ProcessBatch>(() => Promise.resolve(false));
    start(processBatch);
    await eventually(async () => {
      expect(await lastSuccess()).toBeGreaterThan(0);
    });
    processBatch.mockRejectedValue(REFUSED);
    await eventually(() => {
      expect(warn.mock.calls).toEqual([['mail-cleanup failed: permission denied']]);
    });
    const before = await lastSuccess();
    await called(processBatch, processBatch.mock.calls.length + 3);
    expect([warn.mock.calls.length, await lastSuccess()]).toEqual([1, before]);
    processBatch.mockRejectedValue(new Error('another reason'));
    await eventually(() => {
      expect(warn.mock.calls[1]).toEqual(['mail-cleanup failed: another reason']);
    });
    processBatch.mockResolvedValue(false);
    await eventually(async () => {
      expect(await lastSuccess()).toBeGreaterThan(before);
      expect(log.mock.calls).toEqual([['mail-cleanup succeeds again']]);
    });
  });

  it('does not warn while a server is unreachable, but keeps the time of the last success', async () => {
    const processBatch = vi.fn(() => Promise.reject(AWAY));
    start(processBatch);
    await called(processBatch, 4);
    expect([warn.mock.calls, await lastSuccess()]).toEqual([[], 0]);
  });

  it('ends after the current batch when the process stops', async () => {
    let underWay = 0;
    const processBatch = vi.fn(async () => {
      underWay += 1;
      await new Promise((resolve) => setTimeout(resolve, INTERVAL_MS));
      underWay -= 1;
      return true;
    });
    start(processBatch);
    await called(processBatch, 1);
    await job?.beforeApplicationShutdown();
    expect(underWay).toBe(0);
    const { length } = processBatch.mock.calls;
    await new Promise((resolve) => setTimeout(resolve, INTERVAL_MS * 2));
    expect(processBatch.mock.calls.length).toBe(length);
  });
});
