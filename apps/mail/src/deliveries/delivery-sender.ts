import { randomUUID } from 'node:crypto';
import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import type { JsonObject } from '#contracts';
import { ClaimingWorker, type Tx } from '#database';
import { Backoff, messageOf, withTimeout } from '#errors';
import { continueTrace, Metrics } from '#observability';
import { Sealer } from '#security';
import { MAIL_CONFIG, type MailConfig, MailDatabase, type MailLimit } from '../mail.config.js';
import { DeliveriesRepository, type Excluded, EXPIRED } from './deliveries.repository.js';
import { type DeliveryChannel, SettlementWriter, settlementOf } from './delivery.channel.js';
import {
  byApplication,
  type ChannelName,
  type ClaimedRow,
  contentContext,
  type Delivery,
  type Settlement,
} from './delivery.rules.js';

const RENEW_INTERVAL_MS = 20_000;
const LEASE_SECONDS = 60;
/** Less than orchestrators wait before they kill a process (90 s). */
const STOP_TIMEOUT_MS = 60_000;

@Injectable()
export class DeliverySender implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #workers = new Map<ChannelName, ChannelWorker>();

  constructor(
    private readonly database: MailDatabase,
    private readonly deliveries: DeliveriesRepository,
    private readonly sealer: Sealer,
    private readonly metrics: Metrics,
    @Inject(MAIL_CONFIG) private readonly config: Pick<MailConfig, 'mailLimit'>,
  ) {}

  /** Call it from a module's constructor: the workers start on application bootstrap. */
  register(channel: DeliveryChannel): void {
    this.#workers.set(channel.channel, new ChannelWorker(channel, this));
  }

  onApplicationBootstrap(): void {
    for (const worker of this.#workers.values()) worker.start();
  }

  /** The databases are still open in this phase. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([...this.#workers.values()].map((worker) => worker.stop()));
  }

  wake(channel: ChannelName): void {
    this.#workers.get(channel)?.wake();
  }

  wakeAll(): void {
    for (const worker of this.#workers.values()) worker.wake();
  }

  /** Drops expired deliveries. Those above the limit of their application wait for its next window, or a higher limit. */
  async take(
    channel: ChannelName,
    limit: number,
    excluded: Excluded = { paused: [], probed: [], held: [] },
  ): Promise<{ items: ClaimedRow[]; isMoreDue: boolean }> {
    const mailLimit = channel === 'mail' ? this.config.mailLimit : undefined;
    const claim = { channel, limit, lease: randomUUID(), leaseSeconds: LEASE_SECONDS, mailLimit, ...excluded };
    return this.database.transaction(async (tx) => {
      const claimed = await this.deliveries.claim(tx, claim);
      await this.#dropExpired(tx, channel, claimed);
      const valid = claimed.filter(({ isExpired }) => !isExpired);
      const items = mailLimit === undefined ? valid : await this.#withinLimit(tx, valid, mailLimit);
      return { items, isMoreDue: claimed.length === limit };
    });
  }

  open({ sealedContent, ...row }: ClaimedRow): Delivery {
    const content = JSON.parse(this.sealer.open(sealedContent, contentContext(row.id))) as JsonObject;
    const { id, appId, kind, recipient, attempts, createdAt, expiresAt } = row;
    return { id, appId, kind, recipient, content, attempts, createdAt, expiresAt };
  }

  renew(rows: readonly ClaimedRow[]): Promise<void> {
    return this.deliveries.renew(rows, LEASE_SECONDS);
  }

  async settle(channel: ChannelName, settlements: readonly Settlement[]): Promise<void> {
    const outcomes = await this.deliveries.settle(settlements);
    for (const outcome of outcomes) this.metrics.deliveries.inc({ channel, outcome });
  }

  async #dropExpired(tx: Tx, channel: ChannelName, claimed: readonly ClaimedRow[]): Promise<void> {
    const expired = claimed.filter(({ isExpired }) => isExpired).map(({ id }) => id);
    if (expired.length === 0) return;
    await this.deliveries.drop(tx, expired, EXPIRED);
    tx.afterCommit(() => {
      this.metrics.deliveries.inc({ channel, outcome: 'dropped' }, expired.length);
    });
  }

  async #withinLimit(tx: Tx, rows: readonly ClaimedRow[], limit: MailLimit): Promise<ClaimedRow[]> {
    const granted: ClaimedRow[] = [];
    for (const [appId, wanted] of byApplication(rows)) {
      const allowance = await this.deliveries.takeAllowance(tx, appId, wanted.length, limit);
      const countedIn = allowance.since;
      granted.push(...wanted.slice(0, allowance.granted).map((row) => ({ ...row, countedIn })));
      const ids = wanted.slice(allowance.granted).map(({ id }) => id);
      if (ids.length > 0) await this.deliveries.putBack(tx, ids);
    }
    return granted;
  }
}

/** Sends the deliveries of one channel. It claims none before it can send it, so that deliveries dropped in the meantime are never sent. */
class ChannelWorker {
  readonly #logger: Logger;
  readonly #pause: ChannelPause;
  readonly #settlements: SettlementWriter;
  /** Claimed, without a stored result. Even if their leases end, as PostgreSQL is away, this process must not claim them again. */
  readonly #held = new Map<string, ClaimedRow>();
  readonly #worker: ClaimingWorker<ClaimedRow>;
  #renewals: NodeJS.Timeout | undefined;

  constructor(
    private readonly channel: DeliveryChannel,
    private readonly sender: DeliverySender,
  ) {
    this.#logger = new Logger(`Deliveries ${channel.channel}`);
    this.#pause = new ChannelPause(this.#logger);
    this.#settlements = new SettlementWriter(async (batch) => {
      await sender.settle(channel.channel, batch);
      for (const { id } of batch) this.#held.delete(id);
    }, this.#logger);
    this.#worker = new ClaimingWorker({
      slots: () => this.#slots(),
      claim: (limit) => {
        const [paused, probed] = [channel.pausedApplications(), channel.probedApplications()];
        return sender.take(channel.channel, limit, { paused, probed, held: [...this.#held.keys()] });
      },
      work: (row) => this.#send(row),
      maxWaitMs: () => this.#pause.remainingMs || Infinity,
      logger: this.#logger,
      claiming: 'claiming deliveries',
    });
  }

  /** The renewals are not a `PeriodicJob`, because they go on while the worker stops. */
  start(): void {
    this.#renewals = setInterval(() => void this.#renew(), RENEW_INTERVAL_MS);
    this.#worker.start();
  }

  /** Resolves once claimed deliveries are sent and settled. Another process sends those again whose server takes longer. */
  async stop(): Promise<void> {
    await this.#worker.stopClaiming();
    await withTimeout(this.#worker.finished(), STOP_TIMEOUT_MS);
    await this.#settlements.stop();
    clearInterval(this.#renewals);
  }

  wake(): void {
    this.#worker.wake();
  }

  /** How many sends may run now: after a pause a single one, to probe whether the server is back. */
  #slots(): number {
    if (!this.#pause.isOver) return 0;
    return this.#pause.isProbing ? 1 : this.channel.parallel;
  }

  async #send(row: ClaimedRow): Promise<void> {
    this.#held.set(row.id, row);
    const thrown = await this.#attempt(row);
    const settlement = settlementOf(row, thrown);
    if (settlement.outcome === 'released') this.#pause.begin(settlement.error ?? '');
    else this.#pause.end();
    this.#settlements.add(settlement);
  }

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
        this.channel.send(this.sender.open(row)),
      );
      return undefined;
    } catch (error) {
      return error ?? new Error('the channel failed without a reason');
    }
  }

  async #renew(): Promise<void> {
    if (this.#held.size === 0) return;
    await this.sender.renew([...this.#held.values()]).catch((error: unknown) => {
      this.#logger.debug(`leases could not be renewed: ${messageOf(error)}`);
    });
  }
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

class ChannelPause {
  readonly #backoff = new Backoff(LONGEST_PAUSE_MS, FIRST_PAUSE_MS);
  #until = 0;

  constructor(private readonly logger: Logger) {}

  get remainingMs(): number {
    return Math.max(0, this.#until - performance.now());
  }

  get isOver(): boolean {
    return this.remainingMs === 0;
  }

  get isProbing(): boolean {
    return this.#backoff.hasBegun;
  }

  /** Attempts that fail at the same time start one pause only. */
  begin(reason: string): void {
    if (!this.isOver) return;
    if (!this.isProbing) this.logger.warn(`paused, everything waits: ${reason}`);
    this.#until = performance.now() + this.#backoff.next();
  }

  end(): void {
    if (this.isProbing) this.logger.log('resumed');
    this.#backoff.reset();
    this.#until = 0;
  }
}
