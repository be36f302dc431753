import { Module } from '@nestjs/common';
import { ConnectorsController } from './connectors.controller.js';
import { DeviceHints } from './device-hints.js';
import { InstallationScanRepository } from './installation-scan.repository.js';
import { PushCounts } from './push-counts.js';
import { PushDelivery } from './push-delivery.js';
import { PushDispatcher } from './push-dispatcher.js';
import { PushGauge } from './push-gauge.js';
import { PushJobsRepository } from './push-jobs.repository.js';
import { PushLeases } from './push-leases.js';
import { TalliesRepository } from './tallies.repository.js';
import { TallyKeeper } from './tally-keeper.js';

/** Finds the devices that a push is for, puts it into their queues, and keeps count. */
@Module({
  controllers: [ConnectorsController],
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
