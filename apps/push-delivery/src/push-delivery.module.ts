import { type DynamicModule, Injectable, Module } from '@nestjs/common';
import {
  ApplicationDirectory,
  FAILED_CREDENTIAL_LIMIT_OPTIONS,
  FailedCredentialLimit,
  type FailedCredentialLimitOptions,
  parseRateLimit,
} from '#admission';
import { Clock } from '#bootstrap';
import { type ClassPermissions, installationsRpc, type Principal, pushImportRpc, pushIndexesRpc } from '#contracts';
import { DatabaseModule } from '#database';
import { appError } from '#errors';
import { ANONYMOUS } from '#objects';
import { AccessSource, ObjectsModule, type Requester } from '#objects/store';
import { Connections, ConnectorIdentity } from './connector/connections.js';
import { ConnectorPresence, ConnectorShutdown } from './connector/connector-lifecycle.js';
import { ConnectorInbox, ConnectorService } from './connector/connector.service.js';
import { DeviceAdmission } from './connector/device-admission.js';
import { DeviceEndpoint } from './connector/device-endpoint.js';
import { MessageCache } from './connector/message-cache.js';
import { QueueWrites } from './connector/queue-writes.js';
import { DeviceQueuesModule, type DeviceQueueStorage } from './device-queues/device-queues.module.js';
import {
  DeliveryStatisticsRepository,
  DeliveryStatisticsWriter,
  DeliveryTotals,
} from './dispatch/delivery-statistics.js';
import { LanesRepository } from './dispatch/lanes.repository.js';
import { PushDelivery } from './dispatch/push-delivery.js';
import { PushDispatcher, PushGauge } from './dispatch/push-dispatcher.js';
import { PushJobsRepository } from './dispatch/push-jobs.repository.js';
import { InstallationWriter } from './installations/installation-writer.js';
import { InstallationScanRepository, InstallationsRepository } from './installations/installations.repository.js';
import { NotificationsController } from './notifications/notifications.controller.js';
import { ConnectedCounts, NotificationsRepository, PushCleanup } from './notifications/notifications.repository.js';
import { PushAudienceController } from './notifications/push-audience.controller.js';
import { ConnectorsController, PushController } from './notifications/push.controller.js';
import { PUSH_DELIVERY_CONFIG, type PushDeliveryConfig } from './push-delivery.config.js';
import { PushDatabase, pushDatabase } from './push-delivery.database.js';
import { VendorOperationsModule, VendorSenderModule, VendorsModule } from './vendors/vendors.module.js';

/** The gateway has accounts resolve the session, and sends the principal with the request. */
@Injectable()
class PushAccess extends AccessSource {
  constructor(private readonly applications: ApplicationDirectory) {
    super();
  }

  async permissionsOf(appId: string): Promise<ClassPermissions> {
    const application = await this.applications.find(appId);
    if (application === null) throw appError('UNAUTHORIZED');
    return application.classPermissions;
  }

  principalOf({ principal = ANONYMOUS }: Requester): Promise<Principal> {
    return Promise.resolve(principal);
  }

  hidesContact(): Promise<boolean> {
    return Promise.resolve(false);
  }
}

const PushObjectsModule = ObjectsModule.forService({
  name: 'push',
  contract: installationsRpc,
  indexes: pushIndexesRpc,
  imports: pushImportRpc,
  access: PushAccess,
  settings: {
    useFactory: ({ databaseUrl, databasePool, objectLimitBytes }: PushDeliveryConfig) => ({
      database: pushDatabase(databaseUrl, databasePool),
      limitBytes: objectLimitBytes,
    }),
    inject: [PUSH_DELIVERY_CONFIG],
  },
  databaseToken: PushDatabase,
});

@Module({
  imports: [PushObjectsModule],
  providers: [InstallationWriter, InstallationsRepository],
  exports: [PushObjectsModule],
})
class InstallationsModule {}

@Module({
  imports: [VendorsModule],
  providers: [
    DeliveryStatisticsRepository,
    DeliveryStatisticsWriter,
    DeliveryTotals,
    InstallationScanRepository,
    LanesRepository,
    PushDelivery,
    PushDispatcher,
    PushGauge,
    PushJobsRepository,
  ],
  exports: [InstallationScanRepository, PushDispatcher],
})
class DispatchModule {}

@Module({
  imports: [DispatchModule, InstallationsModule, VendorsModule],
  controllers: [ConnectorsController, NotificationsController, PushAudienceController, PushController],
  providers: [ConnectedCounts, NotificationsRepository, PushCleanup],
})
class NotificationsModule {}

@Module({
  providers: [
    Connections,
    ConnectorIdentity,
    ConnectorInbox,
    ConnectorPresence,
    ConnectorService,
    ConnectorShutdown,
    DeviceAdmission,
    DeviceEndpoint,
    FailedCredentialLimit,
    MessageCache,
    QueueWrites,
    {
      provide: FAILED_CREDENTIAL_LIMIT_OPTIONS,
      inject: [PUSH_DELIVERY_CONFIG],
      useFactory: ({ connector }: PushDeliveryConfig): FailedCredentialLimitOptions => ({
        limit: parseRateLimit(connector.failedCredentials),
      }),
    },
  ],
})
class ConnectorModule {}

interface PushDeliveryAdapters {
  readonly deviceQueues: DeviceQueueStorage;
}

@Module({})
export class PushDeliveryModule {
  static forRoot(config: PushDeliveryConfig, { deviceQueues }: PushDeliveryAdapters): DynamicModule {
    const isDispatcher = config.roles.has('dispatcher');
    const isSender = config.roles.has('sender');
    const usesDatabase = isDispatcher || isSender || deviceQueues === 'postgresql';
    return {
      module: PushDeliveryModule,
      global: true,
      imports: [
        ...(usesDatabase
          ? [DatabaseModule.forRoot(pushDatabase(config.databaseUrl, config.databasePool), PushDatabase)]
          : []),
        DeviceQueuesModule.forRoot(deviceQueues, config.queueLimit),
        ...(isDispatcher ? [NotificationsModule, VendorOperationsModule] : []),
        ...(isSender ? [VendorSenderModule] : []),
        ...(config.roles.has('connector') ? [ConnectorModule] : []),
      ],
      providers: [{ provide: PUSH_DELIVERY_CONFIG, useValue: config }, ApplicationDirectory, Clock],
      exports: [PUSH_DELIVERY_CONFIG, ApplicationDirectory, Clock],
    };
  }
}
