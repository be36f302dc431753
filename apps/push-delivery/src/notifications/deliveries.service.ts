import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '#clock';
import { AppError } from '#errors';
import { DEVICE_QUEUES, type DeviceQueues, type QueueTally } from '../device-queues/device-queues.js';
import { deliveriesOf, type PlatformDeliveries, withTally } from './delivery-counts.rules.js';
import type { NotificationRow } from './notification.row.js';

/** What has become of pushes, as far as anybody knows it at this moment. */
@Injectable()
export class DeliveriesService {
  constructor(
    @Inject(DEVICE_QUEUES) private readonly queues: DeviceQueues,
    private readonly clock: Clock,
  ) {}

  async of(row: NotificationRow): Promise<PlatformDeliveries> {
    const counts = row.status === 'scheduled' ? row.counts : withTally(row.counts, await this.#tally(row));
    return deliveriesOf(counts, row.expiresAt <= this.clock.now());
  }

  /** While the queues are away, what the row remembers of them has to do. */
  async #tally({ objectId: id, appId }: NotificationRow): Promise<ReadonlyMap<string, QueueTally>> {
    try {
      return await this.queues.tally({ id, appId });
    } catch (error) {
      if (error instanceof AppError && error.is('SERVICE_UNAVAILABLE')) return new Map();
      throw error;
    }
  }
}
