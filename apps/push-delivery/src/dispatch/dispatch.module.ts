import { Module } from '@nestjs/common';
import { PushCounts, TallyKeeper } from './delivery-statistics.js';
import { InstallationScanRepository } from './installation-scan.repository.js';
import { DeviceHints, PushDelivery } from './push-delivery.js';
import { PushDispatcher } from './push-dispatcher.js';
import { PushJobsRepository, TalliesRepository } from './push-jobs.repository.js';
import { PushGauge, PushLeases } from './push-worker.js';

/** Finds the devices that a push is for, puts it into their queues, and keeps count. */
@Module({
  providers: [
    DeviceHints,
    InstallationScanRepository,
    PushCounts,
    PushDelivery,
    PushDispatcher,
    PushGauge,
    PushJobsRepository,
    PushLeases,
    TalliesRepository,
    TallyKeeper,
  ],
  exports: [PushCounts, PushDispatcher],
})
export class DispatchModule {}
