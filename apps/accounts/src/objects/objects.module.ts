import { type DynamicModule, Module } from '@nestjs/common';
import { accountsIndexesRpc } from '#contracts';
import { Database } from '#database';
import type { QueryClass } from '#objects';
import { FieldIndexesModule } from '#objects/store';
import { ACCOUNTS_CONFIG, type AccountsConfig } from '../accounts.config.js';
import { accountsDatabase } from '../accounts.database.js';
import { SessionsModule } from '../sessions/sessions.module.js';
import { ObjectAccess } from './object-access.js';
import { AccountsQueryDatabase, ObjectClasses, type StoredClassName } from './object-classes.js';
import { ObjectsController } from './objects.controller.js';
import { ObjectsService } from './objects.service.js';

/** The object engine: queries, includes and joint saves of all registered classes. The modules of classes use it. */
@Module({})
export class ObjectsModule {
  /** @param classes the classes whose custom fields can be indexed */
  static forRoot(classes: ReadonlyMap<StoredClassName, QueryClass>): DynamicModule {
    const indexes = FieldIndexesModule.forService({
      classes,
      contract: accountsIndexesRpc,
      databaseOptions: {
        useFactory: ({ databaseUrl }: AccountsConfig) => accountsDatabase(databaseUrl, 1),
        inject: [ACCOUNTS_CONFIG],
      },
      databaseToken: Database,
    });
    return {
      module: ObjectsModule,
      global: true,
      imports: [indexes, SessionsModule],
      controllers: [ObjectsController],
      providers: [AccountsQueryDatabase, ObjectAccess, ObjectClasses, ObjectsService],
      exports: [AccountsQueryDatabase, ObjectAccess, ObjectClasses, ObjectsService],
    };
  }
}
