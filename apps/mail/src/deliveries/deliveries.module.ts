import { Module } from '@nestjs/common';
import { Readiness } from '#observability';
import { DeliveriesController } from './deliveries.controller.js';
import { DeliveriesRepository } from './deliveries.repository.js';
import { DeliveryLogRepository } from './delivery-log.repository.js';
import { DeliveriesService } from './deliveries.service.js';
import { DeliverySender } from './delivery-sender.js';

/** The queue of deliveries, and the workers that send them. Channels register with `DeliverySender`. */
@Module({
  controllers: [DeliveriesController],
  providers: [DeliveriesRepository, DeliveriesService, DeliveryLogRepository, DeliverySender],
  exports: [DeliveriesService, DeliverySender],
})
export class DeliveriesModule {
  constructor(readiness: Readiness, deliveries: DeliveriesService) {
    readiness.register('secret (mail)', () => deliveries.assertSecretFits());
  }
}
