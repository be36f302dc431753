import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { messageOf } from '#errors';
import { CONNECTOR_NODES, type ConnectorNodes } from '../connector-nodes/connector-nodes.js';
import { DEVICE_QUEUES, type DeviceQueues } from './device-queues.js';

const INTERVAL_MS = 10_000;

/** Ends the sessions of connectors that are dead, and takes away what has expired. Every process does it; none disturbs another. */
@Injectable()
export class UpkeepJob implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('DeviceQueues');
  #isStopping = false;
  #timer: NodeJS.Timeout | undefined;
  #run: Promise<void> = Promise.resolve();

  constructor(
    @Inject(DEVICE_QUEUES) private readonly queues: DeviceQueues,
    @Inject(CONNECTOR_NODES) private readonly nodes: ConnectorNodes,
  ) {}

  onApplicationBootstrap(): void {
    this.#timer = setInterval(() => {
      this.#run = this.#run.then(() => this.#keepUp());
    }, INTERVAL_MS);
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.#isStopping = true;
    clearInterval(this.#timer);
    await this.#run;
  }

  async #keepUp(): Promise<void> {
    try {
      const dead = await this.nodes.takeDead();
      await this.queues.endSessionsOf(dead);
      await this.nodes.bury(dead);
      while (!this.#isStopping && (await this.queues.removeExpired()));
    } catch (error) {
      this.logger.debug(`put off: ${messageOf(error)}`);
    }
  }
}
