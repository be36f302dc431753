import { Injectable, Module } from '@nestjs/common';
import { PeriodicJob } from '#bootstrap';
import { Metrics } from '#observability';
import { DispatchModule } from '../dispatch/dispatch.module.js';
import { InstallationsModule } from '../installations/installations.module.js';
import { VendorsModule } from '../vendors/vendors.module.js';
import { ConnectorsController, NotificationsController, PushOperationsController } from './notifications.controller.js';
import { NotificationsRepository } from './notifications.repository.js';
import { NotificationsService } from './notifications.service.js';
import { PushAudienceService, SendPushService } from './send-push.service.js';

const INTERVAL_MS = 60_000;

/** Deletes old pushes and request ids. Replicas skip rows that another replica has locked. */
@Injectable()
class RetentionJob extends PeriodicJob {
  constructor(
    private readonly notifications: NotificationsRepository,
    metrics: Metrics,
  ) {
    super({ name: 'push-cleanup', intervalMs: INTERVAL_MS, metrics });
  }

  processBatch(): Promise<boolean> {
    return this.notifications.deleteOld();
  }
}

/** Accepting pushes, and reading their records. */
@Module({
  imports: [DispatchModule, InstallationsModule, VendorsModule],
  controllers: [ConnectorsController, NotificationsController, PushOperationsController],
  providers: [NotificationsRepository, NotificationsService, PushAudienceService, RetentionJob, SendPushService],
})
export class NotificationsModule {}
