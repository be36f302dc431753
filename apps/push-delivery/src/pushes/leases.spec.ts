import { once } from 'node:events';
import { Logger } from '@nestjs/common';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Held, LeasedWorker } from './leases.js';

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
      abandoned: () => ['abandoned'],
    });
    worker.start();
    await vi.advanceTimersByTimeAsync(4_500);
    expect([renewals, held!.stop.signal.aborted]).toEqual([1, false]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect([renewals, held!.stop.signal.aborted]).toEqual([1, true]);
    await worker.stop();
  });
});
