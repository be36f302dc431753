import { Module } from '@nestjs/common';
import { DispatchModule } from '../dispatch/dispatch.module.js';
import { InstallationsModule } from '../installations/installations.module.js';
import { DeviceCountsRepository } from './device-counts.repository.js';
import { DeviceReportService } from './device-report.service.js';
import { NotificationsController } from './notifications.controller.js';
import { NotificationsRepository } from './notifications.repository.js';
import { NotificationsService } from './notifications.service.js';
import { PushOperationsController } from './push-operations.controller.js';
import { RequestIdsRepository } from './request-ids.repository.js';
import { RetentionJob } from './retention.job.js';
import { RetentionRepository } from './retention.repository.js';
import { SendPushService } from './send-push.service.js';

/** Pushes as applications ask for them, and what became of them. */
@Module({
  imports: [DispatchModule, InstallationsModule],
  controllers: [NotificationsController, PushOperationsController],
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
