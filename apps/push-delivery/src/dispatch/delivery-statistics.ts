import { Inject, Injectable } from '@nestjs/common';
import { Clock, PeriodicJob } from '#bootstrap';
import { Metrics } from '#observability';
import { DEVICE_QUEUES, type DeviceQueues } from '../device-queues/device-queues.js';
import { growthOf, isSettled, nextStatisticsAt, withStatistics } from './delivery-counts.rules.js';
import { DeliveryStatisticsRepository, type UnsettledPush } from './push-jobs.repository.js';

const INTERVAL_MS = 5_000;
const BATCH_SIZE = 20;

/**
 * Copies the statistics of the queues into the records of pushes, for the last time when they are final. The queues then delete
 * their statistics.
 */
@Injectable()
export class DeliveryStatisticsWriter extends PeriodicJob {
  constructor(
    private readonly statistics: DeliveryStatisticsRepository,
    @Inject(DEVICE_QUEUES) private readonly queues: DeviceQueues,
    private readonly clock: Clock,
    private readonly metrics: Metrics,
  ) {
    super({ name: 'delivery-statistics', intervalMs: INTERVAL_MS, metrics });
  }

  /** Copies the statistics of some pushes that are due. @returns whether more may be due */
  async processBatch(): Promise<boolean> {
    const pushes = await this.statistics.claim(BATCH_SIZE);
    for (const push of pushes) await this.#copy(push);
    return pushes.length === BATCH_SIZE;
  }

  async #copy(push: UnsettledPush): Promise<void> {
    const message = { appId: push.appId, id: push.objectId };
    const counts = withStatistics(push.counts, await this.queues.statistics(message));
    const nextAt = isSettled(counts) ? undefined : nextStatisticsAt(push, this.clock.now());
    // Counts never shrink, so a failure after this statement can be retried.
    if (nextAt === undefined) await this.queues.forget(message);
    const before = await this.statistics.record(push, counts, nextAt);
    if (before === undefined) return;
    for (const [outcome, devices] of Object.entries(growthOf(before, counts, nextAt === undefined)))
      this.metrics.pushDevices.inc({ outcome }, devices);
  }
}
