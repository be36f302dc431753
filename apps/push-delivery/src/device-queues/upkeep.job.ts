import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { CONNECTOR_NODES, type ConnectorNodes } from '../connector-nodes/connector-nodes.js';
import { PeriodicBites } from '../periodic-bites.js';
import { DEVICE_QUEUES, type DeviceQueues } from './device-queues.js';

const INTERVAL_MS = 10_000;

/** Ends the sessions of connectors that are dead, and takes away what has expired. Every process does it; none disturbs another. */
@Injectable()
export class UpkeepJob implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #bites = new PeriodicBites({
    intervalMs: INTERVAL_MS,
    takeBite: () => this.#keepUp(),
    logger: new Logger('DeviceQueues'),
  });

  constructor(
    @Inject(DEVICE_QUEUES) private readonly queues: DeviceQueues,
    @Inject(CONNECTOR_NODES) private readonly nodes: ConnectorNodes,
  ) {}

  onApplicationBootstrap(): void {
    this.#bites.start();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.#bites.stop();
  }

  async #keepUp(): Promise<boolean> {
    const dead = await this.nodes.takeDead();
    await this.queues.endSessionsOf(dead);
    await this.nodes.bury(dead);
    return this.queues.removeExpired();
  }
}
