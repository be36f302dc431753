import { type DynamicModule, Module } from '@nestjs/common';
import { OutboxRelay } from './outbox.relay.js';
import { OUTBOX_SCHEMA } from './outbox.schema.js';
import { Outbox } from './outbox.writer.js';

/** The outbox of one service, in its own schema. */
@Module({})
export class OutboxModule {
  static forSchema(schema: string): DynamicModule {
    return {
      module: OutboxModule,
      providers: [{ provide: OUTBOX_SCHEMA, useValue: schema }, OutboxRelay, Outbox],
      exports: [Outbox],
    };
  }
}
