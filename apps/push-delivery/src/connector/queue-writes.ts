import { Inject, Injectable, Logger } from '@nestjs/common';
import { AppError } from '#errors';
import { Metrics } from '#observability';
import {
  type Acknowledgement,
  DEVICE_QUEUES,
  type DeviceAddress,
  type DevicePresence,
  type DeviceQueues,
  type SessionRef,
} from '../device-queues/device-queues.js';

/** Whether it may work when it is tried again. */
export function isUnavailable(error: unknown): boolean {
  return error instanceof AppError && error.is('SERVICE_UNAVAILABLE');
}

/** So long, what comes one by one becomes one write. */
const GATHER_MS = 3;
const MAX_BATCH = 2_000;
const RETRY_MS = 500;

interface RepeatedWritesOptions<Item> {
  /** As logs call them. */
  readonly name: string;
  /** May be done again with the same items. */
  readonly write: (items: readonly Item[]) => Promise<void>;
  /** Of more, the newest are dropped. */
  readonly limit: number;
  readonly dropped?: () => void;
}

/** Writes many small things in few moves, in their order, again and again until the store takes them. */
export class RetryingBatchWriter<Item> {
  private readonly logger = new Logger('RetryingBatchWriter');
  #waiting: Item[] = [];
  #added = 0;
  #written = 0;
  #isRunning = false;
  #isClosed = false;
  readonly #watchers: { readonly until: number; readonly resolve: () => void }[] = [];

  constructor(private readonly options: RepeatedWritesOptions<Item>) {}

  add(item: Item): void {
    if (this.#waiting.length >= this.options.limit) {
      this.options.dropped?.();
      return;
    }
    this.#waiting.push(item);
    this.#added += 1;
    if (this.#isRunning) return;
    this.#isRunning = true;
    setTimeout(() => void this.#run(), GATHER_MS);
  }

  /** Resolves once everything is written that was added before. */
  async settled(): Promise<void> {
    if (this.#written === this.#added) return;
    await new Promise<void>((resolve) => this.#watchers.push({ until: this.#added, resolve }));
  }

  /** Tries for so long to write what is left; then gives up. */
  async close(limitMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<void>((resolve) => (timer = setTimeout(resolve, limitMs)));
    await Promise.race([this.settled(), limit]);
    clearTimeout(timer);
    this.#isClosed = true;
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0 && !this.#isClosed) {
      const batch = this.#waiting.splice(0, MAX_BATCH);
      await this.#write(batch);
      this.#written += batch.length;
      this.#tell();
    }
    this.#isRunning = false;
  }

  async #write(batch: readonly Item[]): Promise<void> {
    while (!(await this.#isWritten(batch)) && !this.#isClosed)
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }

  /** What can never be written counts as written. */
  async #isWritten(batch: readonly Item[]): Promise<boolean> {
    try {
      await this.options.write(batch);
    } catch (error) {
      if (isUnavailable(error)) return false;
      this.logger.error(error, this.options.name);
    }
    return true;
  }

  #tell(): void {
    while (this.#watchers[0] !== undefined && this.#watchers[0].until <= this.#written)
      this.#watchers.shift()?.resolve();
  }
}

/** Some 30 MB at most. What is dropped is sent to its devices again. */
const MAX_ACKNOWLEDGEMENTS = 100_000;
/** What is dropped is written over when the device comes back. */
const MAX_DEPARTURES = 100_000;
const CLOSE_LIMIT_MS = 3_000;

/** What connections tell the store without waiting for it. */
@Injectable()
export class QueueWrites {
  readonly #acknowledgements: RetryingBatchWriter<Acknowledgement>;
  readonly #departures: RetryingBatchWriter<DevicePresence>;

  constructor(@Inject(DEVICE_QUEUES) queues: DeviceQueues, metrics: Metrics) {
    this.#acknowledgements = new RetryingBatchWriter({
      name: 'acknowledgements',
      write: (items) => queues.acknowledge(items),
      limit: MAX_ACKNOWLEDGEMENTS,
      dropped: () => {
        metrics.pushAcknowledgements.inc({ outcome: 'dropped' });
      },
    });
    this.#departures = new RetryingBatchWriter({
      name: 'departures',
      write: (items) => queues.disconnect(items),
      limit: MAX_DEPARTURES,
    });
  }

  acknowledge(acknowledgement: Acknowledgement): void {
    this.#acknowledgements.add(acknowledgement);
  }

  /** Resolves once the store has all acknowledgements until now: what it says of a queue is then true of them. */
  acknowledged(): Promise<void> {
    return this.#acknowledgements.settled();
  }

  disconnect(device: DeviceAddress, session: SessionRef): void {
    this.#departures.add({ device, session });
  }

  async close(): Promise<void> {
    await Promise.all([this.#acknowledgements.close(CLOSE_LIMIT_MS), this.#departures.close(CLOSE_LIMIT_MS)]);
  }
}
