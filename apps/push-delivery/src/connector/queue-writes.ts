import { setImmediate } from 'node:timers/promises';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { ConcurrencyLimiter } from '#bootstrap';
import { type AppError, isAppError, withTimeout } from '#errors';
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

/** Writes acknowledgements and departures to the store in the background, those of each shard independently. */
@Injectable()
export class QueueWrites {
  readonly #acknowledgements: readonly RetryingBatchWriter<Acknowledgement>[];
  readonly #departures: readonly RetryingBatchWriter<DevicePresence>[];

  constructor(
    @Inject(DEVICE_QUEUES) private readonly queues: DeviceQueues,
    metrics: Metrics,
  ) {
    this.#acknowledgements = forEachShard(queues, () => ({
      name: 'acknowledgements',
      write: (items) => queues.acknowledge(items),
      limit: Math.ceil(MAX_ACKNOWLEDGEMENTS / queues.shards),
      dropped: () => {
        metrics.pushAcknowledgements.inc({ outcome: 'dropped' });
      },
    }));
    this.#departures = forEachShard(queues, () => ({
      name: 'departures',
      write: (items) => queues.disconnect(items),
      limit: Math.ceil(MAX_DEPARTURES / queues.shards),
    }));
  }

  acknowledge(shard: number, acknowledgement: Acknowledgement): void {
    this.#acknowledgements[shard]?.add(acknowledgement);
  }

  /** Afterwards pages take all acknowledgements until now into account. @throws AppError SERVICE_UNAVAILABLE */
  async acknowledged(shard: number): Promise<void> {
    await this.#acknowledgements[shard]?.settled();
  }

  disconnect(device: DeviceAddress, session: SessionRef): void {
    this.#departures[this.queues.shardOf(device)]?.add({ device, session });
  }

  async close(): Promise<void> {
    await Promise.all([...this.#acknowledgements, ...this.#departures].map((writer) => writer.close(CLOSE_LIMIT_MS)));
  }
}

function forEachShard<Item>({ shards }: DeviceQueues, options: () => WriterOptions<Item>): RetryingBatchWriter<Item>[] {
  return Array.from({ length: shards }, () => new RetryingBatchWriter(options()));
}

export function isUnavailable(error: unknown): error is AppError {
  return isAppError(error, 'SERVICE_UNAVAILABLE');
}

const GATHER_MS = 3;
const MAX_BATCH = 2_000;
const RETRY_MS = 500;

interface WriterOptions<Item> {
  readonly name: string;
  readonly write: (items: readonly Item[]) => Promise<void>;
  readonly limit: number;
  readonly dropped?: () => void;
}

interface Watcher {
  readonly until: number;
  readonly resolve: () => void;
  readonly reject: (problem: AppError) => void;
}

const writerLogger = new Logger('RetryingBatchWriter');

/** Writes many small items in few batches and in their order, and repeats a batch until the store accepts it. */
export class RetryingBatchWriter<Item> {
  #waiting: Item[] = [];
  #added = 0;
  #written = 0;
  #running: Promise<void> | undefined;
  #isClosed = false;
  #problem: AppError | undefined;
  #watchers: Watcher[] = [];

  constructor(private readonly options: WriterOptions<Item>) {}

  add(item: Item): void {
    if (this.#waiting.length >= this.options.limit) {
      this.options.dropped?.();
      return;
    }
    this.#waiting.push(item);
    this.#added += 1;
    this.#running ??= this.#run();
  }

  /** While the store does not accept the items, it rejects instead of waiting. @throws AppError SERVICE_UNAVAILABLE */
  async settled(): Promise<void> {
    if (this.#written === this.#added) return;
    if (this.#problem !== undefined) throw this.#problem;
    await new Promise<void>((resolve, reject) => this.#watchers.push({ until: this.#added, resolve, reject }));
  }

  /** Writes the remaining items, and gives up after the limit. */
  async close(limitMs: number): Promise<void> {
    if (this.#running !== undefined) await withTimeout(this.#running, limitMs);
    this.#isClosed = true;
  }

  async #run(): Promise<void> {
    await passed(GATHER_MS);
    while (this.#waiting.length > 0 && !this.#isClosed) {
      const batch = this.#waiting.splice(0, MAX_BATCH);
      await this.#write(batch);
      this.#written += batch.length;
      this.#resolveWatchers();
    }
    this.#running = undefined;
  }

  async #write(batch: readonly Item[]): Promise<void> {
    while (!(await this.#isWritten(batch)) && !this.#isClosed) await passed(RETRY_MS);
  }

  /** A batch that can never be written counts as written. */
  async #isWritten(batch: readonly Item[]): Promise<boolean> {
    this.#problem = await this.#problemOf(batch);
    if (this.#problem === undefined) return true;
    for (const { reject } of this.#watchers.splice(0)) reject(this.#problem);
    return false;
  }

  async #problemOf(batch: readonly Item[]): Promise<AppError | undefined> {
    try {
      await this.options.write(batch);
    } catch (error) {
      if (isUnavailable(error)) return error;
      writerLogger.error(error, this.options.name);
    }
    return undefined;
  }

  #resolveWatchers(): void {
    while (this.#watchers[0] !== undefined && this.#watchers[0].until <= this.#written)
      this.#watchers.shift()?.resolve();
  }
}

function passed(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

const PAUSE_MS = 500;

interface WorkQueueOptions<Item> {
  readonly work: (item: Item) => Promise<void>;
  /** Limit of the items that are done at once for the first time, and of those that are repeated at once. */
  readonly concurrency: number;
  readonly shards: number;
}

/** First come, first served. An item whose dependency is unavailable is repeated after a pause, and delays only other failed items of its shard. */
export class RetryingWorkQueue<Item extends { readonly shard: number }> {
  readonly #logger = new Logger('RetryingWorkQueue');
  readonly #first: ConcurrencyLimiter;
  readonly #failed: readonly ConcurrencyLimiter[];

  constructor(private readonly options: WorkQueueOptions<Item>) {
    const { concurrency, shards } = options;
    this.#first = new ConcurrencyLimiter({ concurrency });
    const repeated = Math.ceil(concurrency / shards);
    this.#failed = Array.from({ length: shards }, () => new ConcurrencyLimiter({ concurrency: repeated }));
  }

  /** An item that already waits for the first time keeps its position. */
  add(item: Item): void {
    this.#failed[item.shard]?.forget(item);
    this.#first.add(item, () => this.#do(item));
  }

  forget(item: Item): void {
    this.#first.forget(item);
    this.#failed[item.shard]?.forget(item);
  }

  close(): void {
    for (const limiter of [this.#first, ...this.#failed]) limiter.close();
  }

  async #do(item: Item): Promise<void> {
    try {
      await this.options.work(item);
    } catch (error) {
      if (isUnavailable(error)) this.#repeat(item);
      else this.#logger.error(error);
    }
  }

  #repeat(item: Item): void {
    const failed = this.#failed[item.shard];
    failed?.pause(PAUSE_MS);
    failed?.add(item, () => this.#do(item));
  }
}

interface GatheredOptions<Item> {
  readonly work: (items: readonly Item[]) => Promise<void>;
  readonly weightOf: (item: Item) => number;
  readonly limit: number;
}

/** Works on items in the order of their addition. Those that wait are worked on together, up to a limit of their weights. */
export class Gathered<Item> {
  readonly #waiting: Item[] = [];
  #last: Promise<void> = Promise.resolve();

  constructor(private readonly options: GatheredOptions<Item>) {}

  /** Resolves when the item was worked on, also where the work on it failed together with an earlier item. */
  add(item: Item): Promise<void> {
    this.#waiting.push(item);
    const turn = this.#last.then(async () => {
      if (this.#waiting[0] === item) await this.options.work(this.#take());
    });
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  settled(): Promise<void> {
    return this.#last;
  }

  #take(): Item[] {
    let weight = 0;
    const tooMany = this.#waiting.findIndex((item) => (weight += this.options.weightOf(item)) > this.options.limit);
    return this.#waiting.splice(0, tooMany < 0 ? this.#waiting.length : Math.max(1, tooMany));
  }
}

/** @returns what lets the event loop run other work, after this number of steps */
export function everySo(most: number): (steps?: number) => Promise<void> | undefined {
  let taken = 0;
  return (steps = 1) => {
    taken += steps;
    if (taken < most) return undefined;
    taken = 0;
    return setImmediate();
  };
}
