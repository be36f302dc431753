import { type DynamicModule, Module } from '@nestjs/common';
import { DatabaseModule } from '#database';
import { Sealer } from '#sealing';
import { ACCOUNTS_CONFIG, type AccountsConfig } from './accounts.config.js';
import { accountsDatabase } from './accounts.database.js';
import { ApplicationsModule } from './applications/applications.module.js';
import { UsersModule } from './users/users.module.js';

/** The accounts service: applications, users, sessions and passwords. */
@Module({})
export class AccountsModule {
  static forRoot(config: AccountsConfig): DynamicModule {
    return {
      module: AccountsModule,
      global: true,
      imports: [
        DatabaseModule.forRoot(accountsDatabase(config.databaseUrl, config.databasePool)),
        ApplicationsModule,
        UsersModule,
      ],
      providers: [
        { provide: ACCOUNTS_CONFIG, useValue: config },
        { provide: Sealer, useFactory: () => new Sealer(config.secret.reveal()) },
      ],
      exports: [ACCOUNTS_CONFIG, Sealer],
    };
  }
}
