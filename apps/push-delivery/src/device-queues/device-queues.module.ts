import { type DynamicModule, Module } from '@nestjs/common';
export type { ConnectorNode } from '../connector-nodes/connector-nodes.js';

/** Where queues and connectors are known: Redis serves many processes, the database one alone. */
export type DeviceQueueStorage = 'redis' | 'postgresql';

/** The queues of devices, and the connectors that live. */
@Module({})
export class DeviceQueuesModule {
  static forRoot(_storage: DeviceQueueStorage, _queueLimit: number): DynamicModule {
    return { module: DeviceQueuesModule, global: true };
  }
}
