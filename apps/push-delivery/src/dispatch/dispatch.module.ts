import { Module } from '@nestjs/common';
import { DeliveryStatisticsRepository, DeliveryStatisticsWriter, DeliveryTotals } from './delivery-statistics.js';
import { InstallationScanRepository } from './installation-scan.repository.js';
import { LanesRepository } from './lanes.repository.js';
import { PushDelivery, WakeUpNotifications } from './push-delivery.js';
import { PushDispatcher } from './push-dispatcher.js';
import { PushJobsRepository } from './push-jobs.repository.js';
import { PushGauge } from './push-worker.js';
import { VendorsModule } from '../vendors/vendors.module.js';

/** Finds the devices of a push, adds it to their queues, and counts the results. */
@Module({
  imports: [VendorsModule],
  providers: [
    WakeUpNotifications,
    InstallationScanRepository,
    LanesRepository,
    PushDelivery,
    PushDispatcher,
    PushGauge,
    PushJobsRepository,
    DeliveryStatisticsRepository,
    DeliveryStatisticsWriter,
    DeliveryTotals,
  ],
  exports: [InstallationScanRepository, PushDispatcher],
})
export class DispatchModule {}
