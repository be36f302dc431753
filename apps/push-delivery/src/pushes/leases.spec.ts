import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { appError } from '#errors';
import { Backoff, type Held, LeasedWorker, whileUnavailable } from './leases.js';

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

describe('the leases of a process', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('are renewed one time after another, and end at their time while a renewal hangs', async () => {
    let renewals = 0;
    let held: Held<object> | undefined;
    const worker = new LeasedWorker<object>({
      slots: () => 1,
      claim: () => Promise.resolve({ claimed: [{}], isMoreDue: false }),
      renew: () => {
        renewals += 1;
        return new Promise(() => undefined);
      },
      work: async (claimed) => {
        held ??= claimed;
        await once(claimed.stop.signal, 'abort');
      },
      logger: new Logger('test'),
      claiming: 'claiming',
    });
    worker.start();
    await vi.advanceTimersByTimeAsync(4_500);
    expect([renewals, held!.stop.signal.aborted]).toEqual([1, false]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect([renewals, held!.stop.signal.aborted]).toEqual([1, true]);
    await worker.stop();
  });
});
