import { Inject, Injectable, Logger } from '@nestjs/common';
import { Clock } from '#bootstrap';
import { DEVICE_QUEUES, type DeviceQueues, type QueuePage } from '../device-queues/device-queues.js';
import type { DeviceConnection } from './device-connection.js';
import { MessageCache } from './message-cache.js';
import { isUnavailable, QueueWrites } from './queue-writes.js';

const PAUSE_MS = 500;

/**
 * Limits the concurrency of one kind of work, first come, first served. If a dependency is unavailable, all work pauses and then
 * continues, including the failed items.
 */
export class ConcurrencyLimiter<Item> {
  private readonly logger = new Logger('ConcurrencyLimiter');
  readonly #waiting = new Set<Item>();
  #running = 0;
  #pause: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(
    private readonly work: (item: Item) => Promise<void>,
    private readonly concurrency: number,
  ) {}

  /** An item that already waits keeps its position. */
  add(item: Item): void {
    this.#waiting.add(item);
    this.#next();
  }

  forget(item: Item): void {
    this.#waiting.delete(item);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#pause);
    this.#waiting.clear();
  }

  #next(): void {
    while (this.#running < this.concurrency && this.#pause === undefined && !this.#isClosed) {
      const [item] = this.#waiting;
      if (item === undefined) return;
      this.#waiting.delete(item);
      this.#running += 1;
      void this.#do(item);
    }
  }

  async #do(item: Item): Promise<void> {
    try {
      await this.work(item);
    } catch (error) {
      if (isUnavailable(error)) this.#rest(item);
      else this.logger.error(error);
    } finally {
      this.#running -= 1;
      this.#next();
    }
  }

  #rest(item: Item): void {
    if (this.#isClosed) return;
    this.#waiting.add(item);
    this.#pause ??= setTimeout(() => {
      this.#pause = undefined;
      this.#next();
    }, PAUSE_MS);
  }
}

/** Messages per page: more than fit into the window of a device. */
export const PAGE_LENGTH = 64;

/** Delivers the queued messages of devices. */
@Injectable()
export class QueuePages {
  constructor(
    @Inject(DEVICE_QUEUES) private readonly queues: DeviceQueues,
    private readonly messages: MessageCache,
    private readonly writes: QueueWrites,
    private readonly clock: Clock,
  ) {}

  /** @throws AppError SERVICE_UNAVAILABLE; the call can be repeated */
  async bringNext(connection: DeviceConnection): Promise<void> {
    // Otherwise the page would contain messages that the device has acknowledged.
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
