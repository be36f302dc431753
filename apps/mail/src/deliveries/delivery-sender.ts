import { type BeforeApplicationShutdown, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { AppError, messageOf } from '#errors';
import { continueTrace } from '#observability';
import { DeliveryLeases, SettlementWriter } from './delivery-leases.js';
import { type DeliveryChannel, settlementOf } from './delivery.channel.js';
import { type ChannelName, type ClaimedRow, pauseMs } from './delivery.rules.js';

/** The maximum delay after which a worker finds rows of other processes and rows that have become due. */
const POLL_INTERVAL_MS = 1_000;
const RENEW_INTERVAL_MS = 20_000;

/** Sends queued deliveries over the registered channels, with one worker per channel and process. */
@Injectable()
export class DeliverySender implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #workers = new Map<ChannelName, ChannelWorker>();

  constructor(private readonly leases: DeliveryLeases) {}

  /** Call it from a module's constructor: the workers start on application bootstrap. */
  register(channel: DeliveryChannel): void {
    this.#workers.set(channel.channel, new ChannelWorker(channel, this.leases));
  }

  onApplicationBootstrap(): void {
    for (const worker of this.#workers.values()) worker.start();
  }

  /** The databases are still open in this phase. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([...this.#workers.values()].map((worker) => worker.stop()));
  }

  /** Call it when deliveries of the channel may have become due. */
  wake(channel: ChannelName): void {
    this.#workers.get(channel)?.wake();
  }

  wakeAll(): void {
    for (const worker of this.#workers.values()) worker.wake();
  }
}

/**
 * Sends the deliveries of one channel concurrently and outside any transaction. The worker claims only as many deliveries
 * as it can start at once, so that deliveries dropped in the meantime are never sent.
 */
class ChannelWorker {
  private readonly logger: Logger;
  private readonly pause: ChannelPause;
  private readonly settlements: SettlementWriter;
  /** Claimed deliveries whose results are not stored yet; their leases are renewed. */
  readonly #held = new Map<string, ClaimedRow>();
  readonly #sends = new Set<Promise<void>>();
  #isStopping = false;
  #isAwake = false;
  #isMoreDue = false;
  #endWait: (() => void) | undefined;
  #renewals: NodeJS.Timeout | undefined;
  #loop: Promise<void> = Promise.resolve();

  constructor(
    private readonly channel: DeliveryChannel,
    private readonly leases: DeliveryLeases,
  ) {
    this.logger = new Logger(`Deliveries ${channel.channel}`);
    this.pause = new ChannelPause(this.logger);
    this.settlements = new SettlementWriter(async (batch) => {
      await leases.settle(channel.channel, batch);
      for (const { id } of batch) this.#held.delete(id);
    }, this.logger);
  }

  start(): void {
    this.#renewals = setInterval(() => void this.#renew(), RENEW_INTERVAL_MS);
    this.#loop = this.#run();
  }

  /** Stops claiming, and resolves once all claimed deliveries are sent and their results are stored. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.wake();
    await this.#loop;
    await Promise.all(this.#sends);
    await this.settlements.stop();
    clearInterval(this.#renewals);
  }

  wake(): void {
    this.#isAwake = true;
    this.#endWait?.();
  }

  async #run(): Promise<void> {
    while (!this.#isStopping) {
      const free = this.#free();
      this.#isMoreDue = free === 0 || (await this.#begin(free));
      if (free === 0 || !this.#isMoreDue) await this.#wait();
    }
  }

  /** How many sends may start now: after a pause a single one, to probe whether the server is back. */
  #free(): number {
    if (this.pause.isOver) return Math.max(0, (this.pause.isProbing ? 1 : this.channel.parallel) - this.#sends.size);
    return 0;
  }

  /** @returns whether more may be due */
  async #begin(limit: number): Promise<boolean> {
    try {
      const { rows, isMoreDue } = await this.leases.take(this.channel.channel, limit);
      for (const row of rows) this.#track(row);
      return isMoreDue;
    } catch (error) {
      const isUnavailable = error instanceof AppError && error.is('SERVICE_UNAVAILABLE');
      this.logger[isUnavailable ? 'debug' : 'warn'](`deliveries could not be claimed: ${messageOf(error)}`);
      return false;
    }
  }

  #track(row: ClaimedRow): void {
    this.#held.set(row.id, row);
    const send = this.#send(row).finally(() => {
      this.#sends.delete(send);
      if (this.#isMoreDue) this.wake();
    });
    this.#sends.add(send);
  }

  async #send(row: ClaimedRow): Promise<void> {
    const thrown = await this.#attempt(row);
    const settlement = settlementOf(row, thrown);
    if (settlement.outcome === 'released') this.pause.begin(settlement.error ?? '');
    else this.pause.end();
    this.settlements.add(settlement);
  }

  /** @returns the error of the channel; undefined if the server has accepted the message */
  async #attempt(row: ClaimedRow): Promise<unknown> {
    const { id, kind, appId, attempts, traceparent } = row;
    const attributes = {
      'gatepost.delivery.id': id,
      'gatepost.delivery.kind': kind,
      'gatepost.app.id': appId,
      'gatepost.delivery.failures': attempts,
    };
    try {
      await continueTrace(traceparent, { name: `${this.channel.channel} deliver`, attributes }, () =>
        this.channel.send(this.leases.open(row)),
      );
      return undefined;
    } catch (error) {
      return error ?? new Error('the channel failed without a reason');
    }
  }

  async #renew(): Promise<void> {
    if (this.#held.size === 0) return;
    await this.leases.renew([...this.#held.values()]).catch((error: unknown) => {
      this.logger.debug(`leases could not be renewed: ${messageOf(error)}`);
    });
  }

  async #wait(): Promise<void> {
    if (!this.#isAwake) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, Math.min(POLL_INTERVAL_MS, this.pause.remainingMs || POLL_INTERVAL_MS));
        this.#endWait = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#isAwake = false;
    this.#endWait = undefined;
  }
}

/** The pause of a channel while its server is unavailable. */
class ChannelPause {
  #lastMs = 0;
  #until = 0;

  constructor(private readonly logger: Logger) {}

  get remainingMs(): number {
    return Math.max(0, this.#until - performance.now());
  }

  get isOver(): boolean {
    return this.remainingMs === 0;
  }

  /** True until a send shows that the server is back. */
  get isProbing(): boolean {
    return this.#lastMs > 0;
  }

  /** Attempts that fail at the same time start one pause only. */
  begin(reason: string): void {
    if (!this.isOver) return;
    if (this.#lastMs === 0) this.logger.warn(`paused, everything waits: ${reason}`);
    this.#lastMs = pauseMs(this.#lastMs);
    this.#until = performance.now() + this.#lastMs;
  }

  end(): void {
    if (this.#lastMs > 0) this.logger.log('resumed');
    this.#lastMs = 0;
    this.#until = 0;
  }
}
