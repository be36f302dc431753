import { type DynamicModule, Module } from '@nestjs/common';
import { Inbox } from './inbox.js';
import { OutboxRelay } from './outbox.relay.js';
import { OUTBOX_SCHEMA } from './outbox.schema.js';
import { Outbox } from './outbox.writer.js';

/** The outbox and inbox of one service, in its own schema. */
@Module({})
export class OutboxModule {
  static forSchema(schema: string): DynamicModule {
    return {
      module: OutboxModule,
      providers: [{ provide: OUTBOX_SCHEMA, useValue: schema }, OutboxRelay, Outbox, Inbox],
      exports: [Outbox, Inbox],
    };
  }
}
