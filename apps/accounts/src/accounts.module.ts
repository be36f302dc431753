import { type DynamicModule, Module } from '@nestjs/common';
import { DatabaseModule } from '#database';
import { Sealer } from '#sealing';
import { ACCOUNTS_CONFIG, type AccountsConfig } from './accounts.config.js';
import { accountsDatabase } from './accounts.database.js';
import { ApplicationsModule } from './applications/applications.module.js';
import { LockoutModule, type LockoutStorage } from './lockout/lockout.module.js';
import { UsersModule } from './users/users.module.js';

/** What of the service depends on the process that runs it. */
export interface AccountsAdapters {
  readonly lockouts: LockoutStorage;
}

/** The accounts service: applications, users, sessions and passwords. */
@Module({})
export class AccountsModule {
  static forRoot(config: AccountsConfig, { lockouts }: AccountsAdapters): DynamicModule {
    return {
      module: AccountsModule,
      global: true,
      imports: [
        DatabaseModule.forRoot(accountsDatabase(config.databaseUrl, config.databasePool)),
        LockoutModule.forRoot(lockouts),
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
