import { Inject, Injectable, Logger } from '@nestjs/common';
import { ConcurrencyLimiter } from '#bootstrap';
import { isAppError, withTimeout } from '#errors';
import { Metrics } from '#observability';
import {
  type Acknowledgement,
  DEVICE_QUEUES,
  type DeviceAddress,
  type DevicePresence,
  type DeviceQueues,
  type SessionRef,
} from '../device-queues/device-queues.js';

/** About 30 MB. Messages of dropped acknowledgements are sent again. */
const MAX_ACKNOWLEDGEMENTS = 100_000;
/** A dropped departure is overwritten when the device reconnects. */
const MAX_DEPARTURES = 100_000;
const CLOSE_LIMIT_MS = 3_000;

/** Writes acknowledgements and departures to the store in the background. */
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

  /** Resolves once the store has recorded all acknowledgements until now, so that its pages take them into account. */
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

/** Whether a retry may succeed. */
export function isUnavailable(error: unknown): boolean {
  return isAppError(error, 'SERVICE_UNAVAILABLE');
}

/** Items added within this time form one batch. */
const GATHER_MS = 3;
const MAX_BATCH = 2_000;
const RETRY_MS = 500;

interface WriterOptions<Item> {
  /** The name in logs. */
  readonly name: string;
  /** Must be repeatable with the same items. */
  readonly write: (items: readonly Item[]) => Promise<void>;
  /** Limit of the waiting items; further items are dropped. */
  readonly limit: number;
  readonly dropped?: () => void;
}

/** Writes many small items in few batches and in their order, and repeats a batch until the store accepts it. */
export class RetryingBatchWriter<Item> {
  private readonly logger = new Logger('RetryingBatchWriter');
  #waiting: Item[] = [];
  #added = 0;
  #written = 0;
  #isRunning = false;
  #isClosed = false;
  readonly #watchers: { readonly until: number; readonly resolve: () => void }[] = [];

  constructor(private readonly options: WriterOptions<Item>) {}

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

  /** Resolves once all items added before are written. */
  async settled(): Promise<void> {
    if (this.#written === this.#added) return;
    await new Promise<void>((resolve) => this.#watchers.push({ until: this.#added, resolve }));
  }

  /** Writes the remaining items, and gives up after the limit. */
  async close(limitMs: number): Promise<void> {
    await withTimeout(this.settled(), limitMs);
    this.#isClosed = true;
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0 && !this.#isClosed) {
      const batch = this.#waiting.splice(0, MAX_BATCH);
      await this.#write(batch);
      this.#written += batch.length;
      this.#resolveWatchers();
    }
    this.#isRunning = false;
  }

  async #write(batch: readonly Item[]): Promise<void> {
    while (!(await this.#isWritten(batch)) && !this.#isClosed)
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }

  /** A batch that can never be written counts as written. */
  async #isWritten(batch: readonly Item[]): Promise<boolean> {
    try {
      await this.options.write(batch);
    } catch (error) {
      if (isUnavailable(error)) return false;
      this.logger.error(error, this.options.name);
    }
    return true;
  }

  #resolveWatchers(): void {
    while (this.#watchers[0] !== undefined && this.#watchers[0].until <= this.#written)
      this.#watchers.shift()?.resolve();
  }
}

const PAUSE_MS = 500;

/**
 * Does one kind of work for many items, a limited number at once, first come, first served. If a dependency is unavailable, all work
 * pauses and then continues, including the failed items.
 */
export class RetryingWorkQueue<Item extends object | string> {
  private readonly logger = new Logger('RetryingWorkQueue');
  readonly #limiter: ConcurrencyLimiter;

  constructor(
    private readonly work: (item: Item) => Promise<void>,
    concurrency: number,
  ) {
    this.#limiter = new ConcurrencyLimiter({ concurrency });
  }

  /** An item that already waits keeps its position. */
  add(item: Item): void {
    this.#limiter.add(item, () => this.#do(item));
  }

  forget(item: Item): void {
    this.#limiter.forget(item);
  }

  close(): void {
    this.#limiter.close();
  }

  async #do(item: Item): Promise<void> {
    try {
      await this.work(item);
    } catch (error) {
      if (isUnavailable(error)) this.#retry(item);
      else this.logger.error(error);
    }
  }

  #retry(item: Item): void {
    this.#limiter.pause(PAUSE_MS);
    this.add(item);
  }
}
