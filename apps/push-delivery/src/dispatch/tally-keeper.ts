import { Inject, Injectable } from '@nestjs/common';
import { Clock, PeriodicJob } from '#bootstrap';
import { Metrics } from '#observability';
import { DEVICE_QUEUES, type DeviceQueues } from '../device-queues/device-queues.js';
import { growthOf, isSettled, withTally } from './delivery-counts.rules.js';
import { TalliesRepository, type UntalliedPush } from './tallies.repository.js';
import { nextTallyAt } from './tally.rules.js';

const INTERVAL_MS = 5_000;
const BATCH_SIZE = 20;

/**
 * Copies what the queues count into the records of pushes, now and then, and for the last time when nothing can change
 * any more. Then the queues forget the push.
 */
@Injectable()
export class TallyKeeper extends PeriodicJob {
  constructor(
    private readonly tallies: TalliesRepository,
    @Inject(DEVICE_QUEUES) private readonly queues: DeviceQueues,
    private readonly clock: Clock,
    private readonly metrics: Metrics,
  ) {
    super({ name: 'delivery-statistics', intervalMs: INTERVAL_MS, metrics });
  }

  /** Tallies some of the pushes whose time has come. @returns whether more may be left */
  async processBatch(): Promise<boolean> {
    const pushes = await this.tallies.take(BATCH_SIZE);
    for (const push of pushes) await this.#tally(push);
    return pushes.length === BATCH_SIZE;
  }

  async #tally(push: UntalliedPush): Promise<void> {
    const message = { appId: push.appId, id: push.objectId };
    const counts = withTally(push.counts, await this.queues.tally(message));
    const nextAt = isSettled(counts) ? undefined : nextTallyAt(push, this.clock.now());
    // Counts never shrink: it may fail after this, and come again.
    if (nextAt === undefined) await this.queues.forget(message);
    const before = await this.tallies.note(push, counts, nextAt);
    if (before === undefined) return;
    for (const [outcome, devices] of Object.entries(growthOf(before, counts, nextAt === undefined)))
      this.metrics.pushDevices.inc({ outcome }, devices);
  }
}
