import { Inject, Injectable } from '@nestjs/common';
import { Database, type Tx } from '#database';
import { OUTBOX_SCHEMA } from './outbox.schema.js';

/** Remembers which events a service has handled, so that a redelivered one changes nothing. */
@Injectable()
export class Inbox {
  constructor(
    private readonly database: Database,
    @Inject(OUTBOX_SCHEMA) private readonly schema: string,
  ) {}

  /** Runs `work` in the transaction that also notes the message as handled. @returns false where it was handled before */
  async once(messageId: string, work: (tx: Tx) => Promise<void>): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      const noted = await tx.query(
        `INSERT INTO ${this.schema}.inbox (message_id) VALUES ($1) ON CONFLICT ON CONSTRAINT inbox_pkey DO NOTHING RETURNING message_id`,
        [messageId],
      );
      if (noted.length === 0) return false;
      await work(tx);
      return true;
    });
  }
}
