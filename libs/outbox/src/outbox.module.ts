import { type DynamicModule, Module } from '@nestjs/common';
import { Database } from '#database';
import { EventPublisher } from '#messaging';
import { Metrics } from '#observability';
import { OutboxRelay } from './outbox.relay.js';
import { Outbox } from './outbox.writer.js';

/** The outbox of one service, in its own schema, with its relay. */
@Module({})
export class OutboxModule {
  /** @param token the service's database, where several can share a process (`DatabaseModule.forRoot`) */
  static forSchema(schema: string, token: typeof Database = Database): DynamicModule {
    return {
      module: OutboxModule,
      providers: [
        {
          provide: OutboxRelay,
          useFactory: (database: Database, publisher: EventPublisher, metrics: Metrics) =>
            new OutboxRelay(database, publisher, metrics, schema),
          inject: [token, EventPublisher, Metrics],
        },
        { provide: Outbox, useFactory: (relay: OutboxRelay) => new Outbox(schema, relay), inject: [OutboxRelay] },
      ],
      exports: [Outbox],
    };
  }
}
