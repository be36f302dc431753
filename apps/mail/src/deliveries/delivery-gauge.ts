import { Injectable } from '@nestjs/common';
import { Metrics } from '#observability';
import { DeliveryLogRepository } from './delivery-log.repository.js';

const CHANNELS = ['mail', 'sms'];
const STATUSES = ['queued', 'failed'];

/** Tells how many deliveries wait, and for how long the oldest has. */
@Injectable()
export class DeliveryGauge {
  constructor(
    private readonly log: DeliveryLogRepository,
    private readonly metrics: Metrics,
  ) {
    const gauges = [metrics.deliveriesWaiting, metrics.oldestDelivery];
    metrics.sample({ gauges, read: () => this.#read() });
  }

  async #read(): Promise<void> {
    const { deliveriesWaiting, oldestDelivery } = this.metrics;
    const waiting = await this.log.waiting();
    for (const channel of CHANNELS) {
      const own = waiting.filter((row) => row.channel === channel);
      oldestDelivery.set({ channel }, Math.max(0, ...own.map(({ seconds }) => seconds)));
      for (const status of STATUSES)
        deliveriesWaiting.set({ channel, status }, own.find((row) => row.status === status)?.count ?? 0);
    }
  }
}
