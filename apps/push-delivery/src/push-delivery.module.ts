import { type DynamicModule, Module } from '@nestjs/common';
import { ApplicationDirectory } from '#admission';
import { Clock } from '#bootstrap';
import { DatabaseModule } from '#database';
import { ConnectorModule } from './connector/connector.module.js';
import { DeviceQueuesModule, type DeviceQueueStorage } from './device-queues/device-queues.module.js';
import { DispatchModule } from './dispatch/dispatch.module.js';
import { InstallationsModule } from './installations/installations.module.js';
import { NotificationsModule } from './notifications/notifications.module.js';
import { PUSH_DELIVERY_CONFIG, type PushDeliveryConfig } from './push-delivery.config.js';
import { PushDatabase, pushDatabase } from './push-delivery.database.js';
import { VendorOperationsModule, VendorSenderModule } from './vendors/vendors.module.js';

/** The parts of the service that depend on the process that runs it. */
interface PushDeliveryAdapters {
  readonly deviceQueues: DeviceQueueStorage;
}

/** The push service: installations, pushes, and the connections of devices. */
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
        ...(isDispatcher ? [InstallationsModule, NotificationsModule, DispatchModule, VendorOperationsModule] : []),
        ...(isSender ? [VendorSenderModule] : []),
        ...(config.roles.has('connector') ? [ConnectorModule] : []),
      ],
      providers: [{ provide: PUSH_DELIVERY_CONFIG, useValue: config }, ApplicationDirectory, Clock],
      exports: [PUSH_DELIVERY_CONFIG, ApplicationDirectory, Clock],
    };
  }
}
