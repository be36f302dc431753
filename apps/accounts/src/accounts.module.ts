import { type DynamicModule, Module } from '@nestjs/common';
import { DatabaseModule } from '#database';
import { Sealer, sealerOf } from '#security';
import { ACCOUNTS_CONFIG, type AccountsConfig } from './accounts.config.js';
import { accountsDatabase } from './accounts.database.js';
import { ApplicationsModule } from './applications/applications.module.js';
import { EmailsModule } from './emails/emails.module.js';
import { IdentitiesModule } from './identities/identities.module.js';
import { LockoutModule, type LockoutStorage } from './lockout/lockout.module.js';
import { LoginModule } from './login/login.module.js';
import { AccountsObjectsModule } from './objects/objects.module.js';
import { PhoneNumbersModule } from './phone-numbers/phone-numbers.module.js';
import { SecretsModule } from './secrets/secrets.module.js';
import { RolesModule } from './roles/roles.module.js';
import { UsersModule } from './users/users.module.js';

/** The parts of the service that depend on the process that runs it. */
interface AccountsAdapters {
  readonly lockouts: LockoutStorage;
}

/** The accounts service: applications, users and roles, sessions, logins and lockout, phone numbers, mailed links. */
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
        AccountsObjectsModule,
        UsersModule,
        RolesModule,
        LoginModule,
        PhoneNumbersModule,
        EmailsModule,
        IdentitiesModule,
        SecretsModule,
      ],
      providers: [
        { provide: ACCOUNTS_CONFIG, useValue: config },
        { provide: Sealer, useFactory: () => sealerOf(config) },
      ],
      exports: [ACCOUNTS_CONFIG, Sealer],
    };
  }
}
