import { type DynamicModule, Module } from '@nestjs/common';
import { DatabaseModule } from '#database';
import { Sealer, sealerOf } from '#security';
import { ACCOUNTS_CONFIG, type AccountsConfig } from './accounts.config.js';
import { accountsDatabase } from './accounts.database.js';
import { ApplicationsModule } from './applications/applications.module.js';
import { EmailsController } from './emails/emails.controller.js';
import { IdentitiesController } from './identities/identities.controller.js';
import { LockoutModule, type LockoutStorage } from './lockout/lockout.module.js';
import { LoginController } from './login/login.controller.js';
import { AccountsObjectsModule, IncludesController } from './objects/objects.module.js';
import { PasswordsModule } from './passwords/passwords.module.js';
import { PhoneLoginService } from './phone-numbers/phone-login.service.js';
import { PhoneNumbersController } from './phone-numbers/phone-numbers.controller.js';
import { SmsCodesRepository } from './phone-numbers/sms-codes.repository.js';
import { SmsCodesService } from './phone-numbers/sms-codes.service.js';
import { RolesModule } from './roles/roles.module.js';
import { SecretsModule } from './secrets/secrets.module.js';
import { SessionsModule } from './sessions/sessions.module.js';
import { UsersModule } from './users/users.module.js';

/** Logins and sign-ups by accounts on other platforms. */
@Module({
  imports: [SessionsModule, UsersModule],
  controllers: [IdentitiesController],
})
class IdentitiesModule {}

/** Email verification and password resets by mailed links. */
@Module({
  imports: [PasswordsModule, SessionsModule, UsersModule],
  controllers: [EmailsController],
})
class EmailsModule {}

/** Codes that are sent to phone numbers: logins, verification and password resets by them. */
@Module({
  imports: [PasswordsModule, SessionsModule, UsersModule],
  controllers: [PhoneNumbersController],
  providers: [PhoneLoginService, SmsCodesRepository, SmsCodesService],
  exports: [PhoneLoginService],
})
class PhoneNumbersModule {}

/** Logins, by password and by code, and the report of locked users. */
@Module({
  imports: [PasswordsModule, PhoneNumbersModule, SessionsModule, UsersModule],
  controllers: [LoginController],
})
class LoginModule {}

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
      controllers: [IncludesController],
      providers: [
        { provide: ACCOUNTS_CONFIG, useValue: config },
        { provide: Sealer, useFactory: () => sealerOf(config) },
      ],
      exports: [ACCOUNTS_CONFIG, Sealer],
    };
  }
}
