import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { Clock } from '#bootstrap';
import { Redis } from '#redis';
import { CONNECTOR_NODES } from '../connector-nodes/connector-nodes.js';
import { MemoryConnectorNodes } from '../connector-nodes/memory-connector-nodes.js';
import { RedisConnectorNodes } from '../connector-nodes/redis-connector-nodes.store.js';
import { PushDatabase } from '../push-delivery.database.js';
import { DEVICE_QUEUES, type DeviceQueueLimits } from './device-queues.js';
import { PostgresDeviceQueues } from './postgres-device-queues.store.js';
import { RedisDeviceQueues } from './redis-device-queues.store.js';
import { UpkeepJob } from './upkeep.job.js';

/** Where queues and connectors are known: Redis serves many processes, the database one alone. */
export type DeviceQueueStorage = 'redis' | 'postgresql';

const LEASE_MS = 10_000;
const CONFLICT_MS = 60_000;

/** The queues of devices, and the connectors that live. */
@Module({})
export class DeviceQueuesModule {
  static forRoot(storage: DeviceQueueStorage, queueLimit: number): DynamicModule {
    return {
      module: DeviceQueuesModule,
      global: true,
      providers: [...STORES[storage]({ queueLimit, conflictMs: CONFLICT_MS }), UpkeepJob],
      exports: [DEVICE_QUEUES, CONNECTOR_NODES],
    };
  }
}

const STORES: Readonly<Record<DeviceQueueStorage, (limits: DeviceQueueLimits) => Provider[]>> = {
  redis: (limits) => [
    { provide: DEVICE_QUEUES, inject: [Redis], useFactory: (redis: Redis) => new RedisDeviceQueues(redis, limits) },
    {
      provide: CONNECTOR_NODES,
      inject: [Redis],
      useFactory: (redis: Redis) => new RedisConnectorNodes(redis, LEASE_MS),
    },
  ],
  postgresql: (limits) => [
    {
      provide: DEVICE_QUEUES,
      inject: [PushDatabase],
      useFactory: (database: PushDatabase) => new PostgresDeviceQueues(database, limits),
    },
    {
      provide: CONNECTOR_NODES,
      inject: [Clock],
      useFactory: (clock: Clock) => new MemoryConnectorNodes(clock, LEASE_MS),
    },
  ],
};
