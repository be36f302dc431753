import { type BeforeApplicationShutdown, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { messageOf } from '#errors';
import { Metrics } from '#observability';
import { DeliveryLogRepository } from './delivery-log.repository.js';

const INTERVAL_MS = 10_000;

/** Tells how long the oldest delivery has been waiting. */
@Injectable()
export class DeliveryGauge implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('Deliveries');
  #timer: NodeJS.Timeout | undefined;
  #reading: Promise<void> = Promise.resolve();

  constructor(
    private readonly log: DeliveryLogRepository,
    private readonly metrics: Metrics,
  ) {}

  onApplicationBootstrap(): void {
    this.#timer = setInterval(() => {
      this.#reading = this.#read();
    }, INTERVAL_MS);
  }

  async beforeApplicationShutdown(): Promise<void> {
    clearInterval(this.#timer);
    await this.#reading;
  }

  async #read(): Promise<void> {
    try {
      const oldest = await this.log.oldestWaiting();
      this.metrics.oldestDelivery.reset();
      for (const { channel, seconds } of oldest) this.metrics.oldestDelivery.set({ channel }, seconds);
    } catch (error) {
      this.logger.debug(`the oldest delivery is not known: ${messageOf(error)}`);
    }
  }
}
