import { type DynamicModule, Inject, Injectable, Module, type Provider } from '@nestjs/common';
import { PeriodicJob } from '#bootstrap';
import { Metrics } from '#observability';
import { Redis } from '#redis';
import { PushDatabase } from '../push-delivery.database.js';
import { CONNECTOR_NODES, type ConnectorNodes, MemoryConnectorNodes } from './connector-nodes.js';
import { DEVICE_QUEUES, type DeviceQueueLimits, type DeviceQueues } from './device-queues.js';
import { PostgresDeviceQueues } from './postgres-device-queues.store.js';
import { RedisDeviceQueues } from './redis-device-queues.store.js';
import { RedisConnectorNodes } from './redis-sessions.store.js';

const INTERVAL_MS = 10_000;

/** Every process runs it; concurrent runs are safe. */
@Injectable()
export class QueueCleanupJob extends PeriodicJob {
  constructor(
    @Inject(DEVICE_QUEUES) private readonly queues: DeviceQueues,
    @Inject(CONNECTOR_NODES) private readonly nodes: ConnectorNodes,
    metrics: Metrics,
  ) {
    super({ name: 'device-queue-cleanup', intervalMs: INTERVAL_MS, metrics });
  }

  async processBatch(): Promise<boolean> {
    const dead = await this.nodes.reapExpired();
    await this.queues.endSessionsOf(dead);
    await this.nodes.acknowledgeReaped(dead);
    return this.queues.removeExpired();
  }
}

export type DeviceQueueStorage = 'redis' | 'postgresql';

const LEASE_MS = 10_000;
const CONFLICT_MS = 60_000;

@Module({})
export class DeviceQueuesModule {
  static forRoot(storage: DeviceQueueStorage, queueLimit: number): DynamicModule {
    return {
      module: DeviceQueuesModule,
      global: true,
      providers: [...STORES[storage]({ queueLimit, conflictMs: CONFLICT_MS }), QueueCleanupJob],
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
      useFactory: () => new MemoryConnectorNodes(LEASE_MS),
    },
  ],
};
