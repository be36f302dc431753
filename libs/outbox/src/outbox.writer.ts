import type { EventContract, EventPayload } from '#contracts';
import type { Statement, Tx } from '#database';
import { currentTraceparent } from '#observability';
import type { OutboxRelay } from './outbox.relay.js';

interface EventOrigin {
  readonly requestId?: string | undefined;
}

/** The one way by which a service publishes an event: a row in the transaction that caused it. */
export class Outbox {
  constructor(
    private readonly schema: string,
    private readonly relay: Pick<OutboxRelay, 'wake'>,
  ) {}

  async add<C extends EventContract>(
    tx: Tx,
    contract: C,
    payload: EventPayload<C>,
    origin?: EventOrigin,
  ): Promise<void> {
    await tx.run(this.addition(contract, payload, origin));
  }

  /**
   * What adds the event, to be run together with what causes it.
   * @param origin the request that the event follows from, where one is known: whoever handles it logs its id
   */
  addition<C extends EventContract>(contract: C, payload: EventPayload<C>, { requestId }: EventOrigin = {}): Statement {
    return {
      name: `${this.schema}.outbox.add`,
      text: `INSERT INTO ${this.schema}.outbox (pattern, payload, request_id, traceparent) VALUES ($1, $2, $3, $4)`,
      values: [contract.pattern, JSON.stringify(payload), requestId, currentTraceparent()],
      afterCommit: () => {
        this.relay.wake();
      },
    };
  }
}
