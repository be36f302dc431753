import { Inject, Injectable } from '@nestjs/common';
import type { EventContract, EventPayload } from '#contracts';
import type { Tx } from '#database';
import { currentTraceparent } from '#observability';
import { OUTBOX_SCHEMA } from './outbox.schema.js';
import { OutboxRelay } from './outbox.relay.js';

interface EventOrigin {
  readonly requestId?: string | undefined;
}

/** The one way by which a service publishes an event: a row in the transaction that caused it. */
@Injectable()
export class Outbox {
  constructor(
    @Inject(OUTBOX_SCHEMA) private readonly schema: string,
    private readonly relay: OutboxRelay,
  ) {}

  /** @param origin the request that the event follows from, where one is known: whoever handles it logs its id */
  async add<C extends EventContract>(
    tx: Tx,
    contract: C,
    payload: EventPayload<C>,
    { requestId }: EventOrigin = {},
  ): Promise<void> {
    await tx.query(
      `INSERT INTO ${this.schema}.outbox (pattern, payload, request_id, traceparent) VALUES ($1, $2, $3, $4)`,
      [contract.pattern, JSON.stringify(payload), requestId, currentTraceparent()],
    );
    tx.afterCommit(() => {
      this.relay.wake();
    });
  }
}
