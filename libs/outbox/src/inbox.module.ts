import { type DynamicModule, Module } from '@nestjs/common';
import { Database } from '#database';
import { Inbox } from './inbox.js';

/** The inbox of one service, in its own schema. */
@Module({})
export class InboxModule {
  /** @param token the service's database, where several can share a process (`DatabaseModule.forRoot`) */
  static forSchema(schema: string, token: typeof Database = Database): DynamicModule {
    return {
      module: InboxModule,
      providers: [{ provide: Inbox, useFactory: (database: Database) => new Inbox(database, schema), inject: [token] }],
      exports: [Inbox],
    };
  }
}
