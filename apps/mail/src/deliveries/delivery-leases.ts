import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, type Logger } from '@nestjs/common';
import type { JsonObject } from '#contracts';
import type { Tx } from '#database';
import { messageOf } from '#errors';
import { Metrics } from '#observability';
import { Sealer } from '#security';
import { MAIL_CONFIG, type MailConfig } from '../mail.config.js';
import { MailDatabase } from '../mail.database.js';
import { DeliveriesRepository } from './deliveries.repository.js';
import {
  byApplication,
  type ChannelName,
  type ClaimedRow,
  contentContext,
  type Delivery,
  type Settlement,
} from './delivery.rules.js';

const LEASE_SECONDS = 60;

/** Claims deliveries under leases, and stores the results of attempts. */
@Injectable()
export class DeliveryLeases {
  constructor(
    private readonly database: MailDatabase,
    private readonly deliveries: DeliveriesRepository,
    private readonly sealer: Sealer,
    private readonly metrics: Metrics,
    @Inject(MAIL_CONFIG) private readonly config: Pick<MailConfig, 'mailLimit'>,
  ) {}

  /**
   * Claims up to `limit` due deliveries. Expired ones are dropped, and those above the limit of their application are
   * postponed to the next window. @returns the deliveries to send, and whether more may be due
   */
  async take(channel: ChannelName, limit: number): Promise<{ rows: ClaimedRow[]; isMoreDue: boolean }> {
    const claim = { channel, limit, lease: randomUUID(), leaseSeconds: LEASE_SECONDS };
    return this.database.transaction(async (tx) => {
      const claimed = await this.deliveries.claim(tx, claim);
      await this.dropExpired(tx, channel, claimed);
      const valid = claimed.filter(({ isExpired }) => !isExpired);
      const rows = channel === 'mail' ? await this.withinLimit(tx, valid) : valid;
      return { rows, isMoreDue: claimed.length === limit };
    });
  }

  /** @throws Error if the content was sealed with another secret */
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

  private async dropExpired(tx: Tx, channel: ChannelName, claimed: readonly ClaimedRow[]): Promise<void> {
    const expired = claimed.filter(({ isExpired }) => isExpired).map(({ id }) => id);
    if (expired.length === 0) return;
    await this.deliveries.drop(tx, expired, 'it expired before it could be sent');
    tx.afterCommit(() => {
      this.metrics.deliveries.inc({ channel, outcome: 'dropped' }, expired.length);
    });
  }

  private async withinLimit(tx: Tx, rows: readonly ClaimedRow[]): Promise<ClaimedRow[]> {
    const limit = this.config.mailLimit;
    if (limit === undefined) return [...rows];
    const granted: ClaimedRow[] = [];
    for (const [appId, wanted] of byApplication(rows)) {
      const allowance = await this.deliveries.takeAllowance(tx, appId, wanted.length, limit);
      granted.push(...wanted.slice(0, allowance.granted));
      const ids = wanted.slice(allowance.granted).map(({ id }) => id);
      if (ids.length > 0) await this.deliveries.postpone(tx, { ids, appId, channel: 'mail', until: allowance.until });
    }
    return granted;
  }
}

const RETRY_MS = 1_000;
/** After shutdown another process finds the lease expired and sends again, so longer retries would only delay the shutdown. */
const SHUTDOWN_ATTEMPTS = 5;

/** Stores results of attempts in batches: results that arrive during a write go into the next one. */
export class SettlementWriter {
  #waiting: Settlement[] = [];
  #writing: Promise<void> | undefined;
  #attemptsLeft = Infinity;

  constructor(
    private readonly write: (batch: readonly Settlement[]) => Promise<void>,
    private readonly logger: Logger,
  ) {}

  add(settlement: Settlement): void {
    this.#waiting.push(settlement);
    this.#writing ??= this.#writeAll();
  }

  async stop(): Promise<void> {
    this.#attemptsLeft = SHUTDOWN_ATTEMPTS;
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0 && this.#attemptsLeft > 0) {
      const batch = this.#waiting.splice(0);
      await this.write(batch).catch(async (error: unknown) => {
        this.#waiting.unshift(...batch);
        this.#attemptsLeft -= 1;
        this.logger.warn(
          `the results of ${batch.length} deliveries could not be stored, retrying: ${messageOf(error)}`,
        );
        await sleep(RETRY_MS);
      });
    }
    this.#writing = undefined;
  }
}
