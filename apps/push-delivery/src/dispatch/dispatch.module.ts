import { Module } from '@nestjs/common';
import { PushCounts, DeliveryStatisticsWriter } from './delivery-statistics.js';
import { InstallationScanRepository } from './installation-scan.repository.js';
import { WakeUpNotifications, PushDelivery } from './push-delivery.js';
import { PushDispatcher } from './push-dispatcher.js';
import { PushJobsRepository, DeliveryStatisticsRepository } from './push-jobs.repository.js';
import { PushGauge, PushLeases } from './push-worker.js';

/** Finds the devices of a push, adds it to their queues, and counts the results. */
@Module({
  providers: [
    WakeUpNotifications,
    InstallationScanRepository,
    PushCounts,
    PushDelivery,
    PushDispatcher,
    PushGauge,
    PushJobsRepository,
    PushLeases,
    DeliveryStatisticsRepository,
    DeliveryStatisticsWriter,
  ],
  exports: [PushCounts, PushDispatcher],
})
export class DispatchModule {}
