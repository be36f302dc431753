import { Inject, Injectable } from '@nestjs/common';
import { PeriodicJob } from '#bootstrap';
import { Metrics } from '#observability';
import { CONNECTOR_NODES, type ConnectorNodes } from '../connector-nodes/connector-nodes.js';
import { DEVICE_QUEUES, type DeviceQueues } from './device-queues.js';

const INTERVAL_MS = 10_000;

/** Ends the sessions of connectors that are dead, and deletes expired messages. Every process does it; none disturbs another. */
@Injectable()
export class UpkeepJob extends PeriodicJob {
  constructor(
    @Inject(DEVICE_QUEUES) private readonly queues: DeviceQueues,
    @Inject(CONNECTOR_NODES) private readonly nodes: ConnectorNodes,
    metrics: Metrics,
  ) {
    super({ name: 'device-queue-cleanup', intervalMs: INTERVAL_MS, metrics });
  }

  async processBatch(): Promise<boolean> {
    const dead = await this.nodes.takeDead();
    await this.queues.endSessionsOf(dead);
    await this.nodes.bury(dead);
    return this.queues.removeExpired();
  }
}
