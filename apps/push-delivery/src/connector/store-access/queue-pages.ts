import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '#bootstrap';
import { DEVICE_QUEUES, type DeviceQueues, type QueuePage } from '../../device-queues/device-queues.js';
import { MessageCache } from '../messages/message-cache.js';
import type { DeviceConnection } from '../sockets/device-connection.js';
import { QueueWrites } from './queue-writes.js';

/** Messages that are looked at together; more than a device's window takes. */
export const PAGE_LENGTH = 64;

/** Brings devices what waits for them. */
@Injectable()
export class QueuePages {
  constructor(
    @Inject(DEVICE_QUEUES) private readonly queues: DeviceQueues,
    private readonly messages: MessageCache,
    private readonly writes: QueueWrites,
    private readonly clock: Clock,
  ) {}

  /** @throws AppError SERVICE_UNAVAILABLE; it may be asked for again */
  async bringNext(connection: DeviceConnection): Promise<void> {
    // What the device has acknowledged would stand on the page again.
    await this.writes.acknowledged();
    const { device } = connection.session;
    if (device === undefined || connection.session.hasEnded()) return;
    await this.bring(connection, await this.queues.peek(device, PAGE_LENGTH));
  }

  async bring(connection: DeviceConnection, page: QueuePage): Promise<void> {
    const { wanted, effects } = connection.session.wanted(page);
    connection.perform(effects);
    const messages = await this.messages.load(wanted, this.clock.now());
    connection.perform(connection.session.deliverPage(messages, page, performance.now()));
  }
}
