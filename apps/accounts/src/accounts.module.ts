import { type DynamicModule, Module } from '@nestjs/common';
import { DatabaseModule, OutboxModule } from '#database';
import { Metrics } from '#observability';
import { Sealer, sealerOf } from '#security';
import { PasswordHasher } from '#security/passwords';
import { ACCOUNTS_CONFIG, type AccountsConfig } from './accounts.config.js';
import { ACCOUNTS_SCHEMA, accountsDatabase } from './accounts.database.js';
import { ApplicationsModule } from './applications/applications.module.js';
import { EmailsController } from './emails/emails.controller.js';
import { IdentitiesController } from './identities/identities.controller.js';
import { LockoutModule, type LockoutStorage } from './lockout/lockout.module.js';
import { LoginController } from './login/login.controller.js';
import { MailSender, MailTokens } from './messages/mail-sender.js';
import { MessageAllowancesRepository } from './messages/message-allowances.repository.js';
import { AccountsObjectsModule, IncludesController } from './objects/objects.module.js';
import { PasswordsService } from './passwords/passwords.service.js';
import { PhoneLoginService } from './phone-numbers/phone-login.service.js';
import { PhoneNumbersController } from './phone-numbers/phone-numbers.controller.js';
import { SmsCodesRepository } from './phone-numbers/sms-codes.repository.js';
import { SmsCodesService } from './phone-numbers/sms-codes.service.js';
import { RolesModule } from './roles/roles.module.js';
import { SecretsModule } from './secrets/secrets.module.js';
import { SessionsModule } from './sessions/sessions.service.js';
import { DailyCounts, LoginCountsCleanup } from './users/daily-counts.js';
import { IdentitiesRepository } from './users/identities.repository.js';
import { SignUpService } from './users/sign-up.service.js';
import { UserImports } from './users/user-imports.js';
import { UserObjectWrites } from './users/user-object-writes.js';
import { UserSearchController } from './users/user-search.controller.js';
import { UserSearchRepository } from './users/user-search.repository.js';
import { UserTransactions } from './users/user-transactions.js';
import { UsersController } from './users/users.controller.js';
import { UsersRepository } from './users/users.repository.js';
import { UsersService } from './users/users.service.js';

/** Passwords: hashed on threads of their own, verified under the lockout. */
@Module({
  imports: [SessionsModule],
  providers: [
    {
      provide: PasswordHasher,
      inject: [ACCOUNTS_CONFIG, Metrics],
      useFactory: (config: AccountsConfig, metrics: Metrics) => new PasswordHasher(config, metrics),
    },
    PasswordsService,
  ],
  exports: [PasswordHasher, PasswordsService],
})
class PasswordsModule {}

/** Users, the mails to them, and the events about them. */
@Module({
  imports: [AccountsObjectsModule, OutboxModule.forSchema(ACCOUNTS_SCHEMA), PasswordsModule, SessionsModule],
  controllers: [UsersController, UserSearchController],
  providers: [
    DailyCounts,
    IdentitiesRepository,
    LoginCountsCleanup,
    MailSender,
    MailTokens,
    MessageAllowancesRepository,
    SignUpService,
    UserImports,
    UserObjectWrites,
    UserSearchRepository,
    UserTransactions,
    UsersRepository,
    UsersService,
  ],
  exports: [
    DailyCounts,
    IdentitiesRepository,
    MailSender,
    MailTokens,
    MessageAllowancesRepository,
    OutboxModule,
    SignUpService,
    UserTransactions,
    UsersRepository,
    UsersService,
  ],
})
class UsersModule {}

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
