import { Injectable, Module } from '@nestjs/common';
import { PeriodicJob } from '#bootstrap';
import { Metrics } from '#observability';
import { DispatchModule } from '../dispatch/dispatch.module.js';
import { InstallationsModule } from '../installations/installations.module.js';
import { NotificationsController } from './notifications.controller.js';
import {
  DeviceCountsRepository,
  NotificationsRepository,
  RequestIdsRepository,
  RetentionRepository,
} from './notifications.repository.js';
import { DeviceReportService, NotificationsService } from './notifications.service.js';
import { ConnectorsController, PushOperationsController } from './push-operations.controller.js';
import { SendPushService } from './send-push.service.js';

const INTERVAL_MS = 60_000;

/** Deletes old pushes and request ids. Replicas skip rows that another replica has locked. */
@Injectable()
class RetentionJob extends PeriodicJob {
  constructor(
    private readonly retention: RetentionRepository,
    metrics: Metrics,
  ) {
    super({ name: 'push-cleanup', intervalMs: INTERVAL_MS, metrics });
  }

  processBatch(): Promise<boolean> {
    return this.retention.processBatch();
  }
}

/** Accepting pushes, and reading their records. */
@Module({
  imports: [DispatchModule, InstallationsModule],
  controllers: [ConnectorsController, NotificationsController, PushOperationsController],
  providers: [
    DeviceCountsRepository,
    DeviceReportService,
    NotificationsRepository,
    NotificationsService,
    RequestIdsRepository,
    RetentionJob,
    RetentionRepository,
    SendPushService,
  ],
})
export class NotificationsModule {}
