import { randomUUID } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import type { JsonObject } from '#contracts';
import type { Tx } from '#database';
import { Metrics } from '#observability';
import { Sealer } from '#security';
import { MAIL_CONFIG, type MailConfig } from '../mail.config.js';
import { MailDatabase } from '../mail.database.js';
import { AllowancesRepository } from './allowances.repository.js';
import { DeliveriesRepository } from './deliveries.repository.js';
import type { ClaimedRow, Settlement } from './delivery.row.js';
import { byApplication, contentContext } from './delivery.rules.js';
import type { ChannelName, Delivery } from './delivery.types.js';

const LEASE_SECONDS = 60;

/** Hands deliveries out under leases, and takes note of what became of them. */
@Injectable()
export class DeliveryLeases {
  constructor(
    private readonly database: MailDatabase,
    private readonly deliveries: DeliveriesRepository,
    private readonly allowances: AllowancesRepository,
    private readonly sealer: Sealer,
    private readonly metrics: Metrics,
    @Inject(MAIL_CONFIG) private readonly config: Pick<MailConfig, 'mailLimit'>,
  ) {}

  /**
   * Takes up to so many deliveries that are due. Of these, what has expired is dropped, and what is over the limit of its
   * application waits for the next window. @returns those to send, and whether more may be due
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

  /** @throws Error where it was sealed with another secret */
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
      const allowance = await this.allowances.take(tx, appId, wanted.length, limit);
      granted.push(...wanted.slice(0, allowance.granted));
      const ids = wanted.slice(allowance.granted).map(({ id }) => id);
      if (ids.length > 0) await this.deliveries.postpone(tx, { ids, appId, channel: 'mail', until: allowance.until });
    }
    return granted;
  }
}
