import { Inject, Injectable, Logger } from '@nestjs/common';
import { Clock } from '#bootstrap';
import { DEVICE_QUEUES, type DeviceQueues, type QueuePage } from '../device-queues/device-queues.js';
import type { DeviceConnection } from './device-connection.js';
import { MessageCache } from './message-cache.js';
import { isUnavailable, QueueWrites } from './queue-writes.js';

const PAUSE_MS = 500;

/**
 * Does one kind of work for many, so many at once, first come first served. While what it needs is away it rests, and then goes
 * on with those that it had begun: it is away for all of them.
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

  /** An item that waits already keeps its place. */
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
