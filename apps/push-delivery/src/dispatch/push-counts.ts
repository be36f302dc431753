import { Inject, Injectable, Logger } from '@nestjs/common';
import { Clock } from '#bootstrap';
import type { DeliveryCounts } from '#contracts';
import { messageOf } from '#errors';
import { DEVICE_QUEUES, type DeviceQueues } from '../device-queues/device-queues.js';
import type { NotificationRow } from '../notifications/notification.row.js';
import { deliveryCountsOf, withTally } from './delivery-counts.rules.js';

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
