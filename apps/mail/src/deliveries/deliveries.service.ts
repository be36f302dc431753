import { Injectable } from '@nestjs/common';
import type { Tx } from '#database';
import { Metrics } from '#observability';
import { Sealer } from '#security';
import { DeliveriesRepository, type OutdatedDeliveries } from './deliveries.repository.js';
import { DeliveryLogRepository } from './delivery-log.repository.js';
import { DeliverySender } from './delivery-sender.js';
import { contentContext, type NewDelivery } from './delivery.rules.js';

const CHANNELS = ['mail', 'sms'];
const STATUSES = ['queued', 'failed'];

/** Queues deliveries in the transaction that handles the requesting event. */
@Injectable()
export class DeliveriesService {
  constructor(
    private readonly deliveries: DeliveriesRepository,
    private readonly log: DeliveryLogRepository,
    private readonly sender: DeliverySender,
    private readonly sealer: Sealer,
    metrics: Metrics,
  ) {
    sampleWaiting(this.log, metrics);
  }

  async add(tx: Tx, { content, delaySeconds = 0, ...delivery }: NewDelivery): Promise<void> {
    const sealedContent = this.sealer.seal(JSON.stringify(content), contentContext(delivery.id));
    await this.deliveries.add(tx, { ...delivery, sealedContent, delaySeconds });
    tx.afterCommit(() => {
      this.sender.wake(delivery.channel);
    });
  }

  /** Records a delivery that was already outdated when it was requested. */
  async addDropped(tx: Tx, { id, ...delivery }: NewDelivery, reason: string): Promise<void> {
    await this.deliveries.add(tx, { ...delivery, id, sealedContent: '', delaySeconds: 0 });
    await this.deliveries.drop(tx, [id], reason);
  }

  dropOutdated(tx: Tx, change: OutdatedDeliveries): Promise<number> {
    return this.deliveries.dropOutdated(tx, change);
  }

  /** @throws Error if a waiting delivery was sealed with another secret: it could not be sent */
  async assertSecretFits(): Promise<void> {
    const row = await this.log.findSealed();
    if (row !== undefined) this.sealer.open(row.sealedContent, contentContext(row.id));
  }
}

function sampleWaiting(log: DeliveryLogRepository, metrics: Metrics): void {
  const { deliveriesWaiting, oldestDelivery } = metrics;
  const read = async (): Promise<void> => {
    const waiting = await log.waiting();
    for (const channel of CHANNELS) {
      const own = waiting.filter((row) => row.channel === channel);
      oldestDelivery.set({ channel }, Math.max(0, ...own.map(({ seconds }) => seconds)));
      for (const status of STATUSES)
        deliveriesWaiting.set({ channel, status }, own.find((row) => row.status === status)?.count ?? 0);
    }
  };
  metrics.sample({ gauges: [deliveriesWaiting, oldestDelivery], read });
}
