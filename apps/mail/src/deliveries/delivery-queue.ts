import { Injectable } from '@nestjs/common';
import type { Tx } from '#database';
import { Sealer } from '#security';
import { DeliveriesRepository, type NoLongerOwed } from './deliveries.repository.js';
import { DeliverySender } from './delivery-sender.js';
import { contentContext } from './delivery.rules.js';
import type { NewDelivery } from './delivery.types.js';

/** The one way to send something: a row in the transaction that handles the event which asks for it. */
@Injectable()
export class DeliveryQueue {
  constructor(
    private readonly deliveries: DeliveriesRepository,
    private readonly sender: DeliverySender,
    private readonly sealer: Sealer,
  ) {}

  async add(tx: Tx, { content, delaySeconds = 0, ...delivery }: NewDelivery): Promise<void> {
    const sealedContent = this.sealer.seal(JSON.stringify(content), contentContext(delivery.id));
    await this.deliveries.add(tx, { ...delivery, sealedContent, delaySeconds });
    tx.afterCommit(() => {
      this.sender.wake(delivery.channel);
    });
  }

  /** Notes a delivery that was no longer owed when it was asked for. */
  async addDropped(tx: Tx, { id, ...delivery }: NewDelivery, reason: string): Promise<void> {
    await this.deliveries.add(tx, { ...delivery, id, sealedContent: '', delaySeconds: 0 });
    await this.deliveries.drop(tx, [id], reason);
  }

  /** Drops what waits for a user and is no longer owed. @returns how many */
  dropNoLongerOwed(tx: Tx, change: NoLongerOwed): Promise<number> {
    return this.deliveries.dropNoLongerOwed(tx, change);
  }
}
