import { type BeforeApplicationShutdown, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { ChannelWorker } from './channel-worker.js';
import type { DeliveryChannel } from './delivery.channel.js';
import type { ChannelName } from './delivery.types.js';
import { DeliveryLeases } from './delivery-leases.js';

/** Sends what is queued, over the channels that register here: one worker per channel and process. */
@Injectable()
export class DeliverySender implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #workers = new Map<ChannelName, ChannelWorker>();

  constructor(private readonly leases: DeliveryLeases) {}

  /** Call it from a module's constructor: the workers begin when all modules are there. */
  register(channel: DeliveryChannel): void {
    this.#workers.set(channel.channel, new ChannelWorker(channel, this.leases));
  }

  onApplicationBootstrap(): void {
    for (const worker of this.#workers.values()) worker.start();
  }

  /** Before the databases close. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([...this.#workers.values()].map((worker) => worker.stop()));
  }

  /** Tells a channel that deliveries may be waiting. */
  wake(channel: ChannelName): void {
    this.#workers.get(channel)?.wake();
  }

  wakeAll(): void {
    for (const worker of this.#workers.values()) worker.wake();
  }
}
