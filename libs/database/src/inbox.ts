import { type DynamicModule, Module } from '@nestjs/common';
import { Database, type Tx } from './database.js';

/** Longer than a broker stores an unhandled event, dead letters excepted. */
const RETENTION = "interval '30 days'";
/** Expired entries that each new message deletes. */
const CLEANUP_BATCH_SIZE = 20;

/** Records which events a service has handled, so that a redelivered event has no effect. */
export class Inbox {
  constructor(
    private readonly database: Database,
    private readonly schema: string,
  ) {}

  /** Runs `work` in the transaction that also records the message as handled. @returns false where it was handled before */
  async once(messageId: string, work: (tx: Tx) => Promise<void>): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      const noted = await tx.query(
        `INSERT INTO ${this.schema}.inbox (message_id) VALUES ($1) ON CONFLICT ON CONSTRAINT inbox_pkey DO NOTHING RETURNING message_id`,
        [messageId],
      );
      if (noted.length === 0) return false;
      await work(tx);
      await this.forgetOld(tx);
      return true;
    });
  }

  private async forgetOld(tx: Tx): Promise<void> {
    await tx.query(
      `DELETE FROM ${this.schema}.inbox WHERE message_id IN (
         SELECT message_id FROM ${this.schema}.inbox WHERE received_at < now() - ${RETENTION}
          ORDER BY received_at LIMIT ${CLEANUP_BATCH_SIZE} FOR UPDATE SKIP LOCKED)`,
    );
  }
}

/** The inbox of one service, in its own schema. */
@Module({})
export class InboxModule {
  /** @param token the service's database class, where several services can share a process (`DatabaseModule.forRoot`) */
  static forSchema(schema: string, token: typeof Database = Database): DynamicModule {
    return {
      module: InboxModule,
      providers: [{ provide: Inbox, useFactory: (database: Database) => new Inbox(database, schema), inject: [token] }],
      exports: [Inbox],
    };
  }
}
