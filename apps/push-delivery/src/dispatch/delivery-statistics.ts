import { Inject, Injectable, Logger } from '@nestjs/common';
import { Clock, PeriodicJob } from '#bootstrap';
import type { DeliveryCounts } from '#contracts';
import { messageOf } from '#errors';
import { Metrics } from '#observability';
import { DEVICE_QUEUES, type DeviceQueues } from '../device-queues/device-queues.js';
import { deliveryCountsOf, growthOf, isSettled, nextTallyAt, withTally } from './delivery-counts.rules.js';
import { DeliveryStatisticsRepository, type UntalliedPush } from './push-jobs.repository.js';
import type { NotificationRow } from './push.row.js';

/** How pushes stand. */
@Injectable()
export class PushCounts {
  private readonly logger = new Logger('Pushes');

  constructor(
    @Inject(DEVICE_QUEUES) private readonly queues: DeviceQueues,
    private readonly clock: Clock,
  ) {}

  /** What has become of a push by now, by platform; what its record says where the queues are away. */
  async of(
    push: Pick<NotificationRow, 'appId' | 'objectId' | 'counts' | 'expiresAt'>,
  ): Promise<Record<string, DeliveryCounts>> {
    const { appId, objectId, counts, expiresAt } = push;
    const tally = await this.queues.tally({ appId, id: objectId }).catch((error: unknown) => {
      this.logger.debug(`push ${objectId}: ${messageOf(error)}`);
      return new Map<string, never>();
    });
    return deliveryCountsOf(withTally(counts, tally), expiresAt <= this.clock.now());
  }

  /** Drops what the queues count of a push that is gone. Where they are away, its counts end by themselves with its expiry. */
  async forget(appId: string, objectId: string): Promise<void> {
    await this.queues.forget({ appId, id: objectId }).catch((error: unknown) => {
      this.logger.debug(`push ${objectId}: ${messageOf(error)}`);
    });
  }
}

const INTERVAL_MS = 5_000;
const BATCH_SIZE = 20;

/**
 * Copies what the queues count into the records of pushes, now and then, and for the last time when nothing can change
 * any more. Then the queues forget the push.
 */
@Injectable()
export class DeliveryStatisticsWriter extends PeriodicJob {
  constructor(
    private readonly tallies: DeliveryStatisticsRepository,
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
