import { Inject, Injectable } from '@nestjs/common';
import type { EventContract, EventPayload } from '#contracts';
import type { Tx } from '#database';
import { OUTBOX_SCHEMA } from './outbox.schema.js';
import { OutboxRelay } from './outbox.relay.js';

/** The one way by which a service publishes an event: a row in the transaction that caused it. */
@Injectable()
export class Outbox {
  constructor(
    @Inject(OUTBOX_SCHEMA) private readonly schema: string,
    private readonly relay: OutboxRelay,
  ) {}

  async add<C extends EventContract>(tx: Tx, contract: C, payload: EventPayload<C>): Promise<void> {
    await tx.query(`INSERT INTO ${this.schema}.outbox (pattern, payload) VALUES ($1, $2)`, [
      contract.pattern,
      JSON.stringify(payload),
    ]);
    tx.afterCommit(() => {
      this.relay.wake();
    });
  }
}
