import { Module } from '@nestjs/common';
import { Readiness } from '#observability';
import { AllowancesRepository } from './allowances.repository.js';
import { DeliveryLogController } from './delivery-log.controller.js';
import { DeliveryLogRepository } from './delivery-log.repository.js';
import { DeliveryLogService } from './delivery-log.service.js';
import { DeliveryLeases } from './delivery-leases.js';
import { DeliveryGauge } from './delivery-gauge.js';
import { DeliveryQueue } from './delivery-queue.js';
import { DeliveriesRepository } from './deliveries.repository.js';
import { DeliverySender } from './delivery-sender.js';

/** What is queued, and the workers that send it. Channels register at `DeliverySender`. */
@Module({
  controllers: [DeliveryLogController],
  providers: [
    AllowancesRepository,
    DeliveryLeases,
    DeliveryGauge,
    DeliveryLogRepository,
    DeliveryLogService,
    DeliveryQueue,
    DeliveriesRepository,
    DeliverySender,
  ],
  exports: [DeliveryQueue, DeliverySender],
})
export class DeliveriesModule {
  constructor(readiness: Readiness, log: DeliveryLogService) {
    readiness.register('secret (mail)', () => log.assertSecretFits());
  }
}
