import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { Database, DatabaseModule, OutboxModule } from '#database';
import { Metrics } from '#observability';
import { Redis } from '#redis';
import { Sealer, sealerOf } from '#security';
import { PasswordHasher } from '#security/passwords';
import { ACCOUNTS_CONFIG, type AccountsConfig } from './accounts.config.js';
import { ACCOUNTS_SCHEMA, accountsDatabase } from './accounts.database.js';
import { ApplicationsModule } from './applications/applications.module.js';
import { EmailsController } from './emails/emails.controller.js';
import { IdentitiesController } from './identities/identities.controller.js';
import { LOCKOUT_LIMITS } from './lockout/lockout.rules.js';
import { LOCKOUT_STORE, LockoutService, LoginAttemptLimiter } from './lockout/lockout.service.js';
import { PostgresLockoutStore } from './lockout/postgres-lockout.store.js';
import { RedisLockoutStore } from './lockout/redis-lockout.store.js';
import { LockoutsController, LoginController } from './login/login.controller.js';
import { MailSender, MailTokens } from './messages/mail-sender.js';
import { MessageAllowancesRepository } from './messages/message-allowances.repository.js';
import { AccountsObjectsModule, IncludesController, RolesModule, SessionsModule } from './objects/objects.module.js';
import { PasswordsService } from './passwords/passwords.service.js';
import { PhoneLoginService } from './phone-numbers/phone-login.service.js';
import { PhoneNumbersController } from './phone-numbers/phone-numbers.controller.js';
import { SmsCodesRepository } from './phone-numbers/sms-codes.repository.js';
import { SmsCodesService } from './phone-numbers/sms-codes.service.js';
import { SecretRotationsRepository } from './secrets/secret-rotations.repository.js';
import { RotationsController, SealingController } from './secrets/secrets.controller.js';
import { DailyCounts, LoginCountsCleanup } from './users/daily-counts.js';
import { IdentitiesRepository } from './users/identities.repository.js';
import { SignUpService } from './users/sign-up.service.js';
import { UserImports } from './users/user-imports.js';
import { UserObjectWrites } from './users/user-object-writes.js';
import { UserSearchRepository } from './users/user-search.repository.js';
import { UserTransactions } from './users/user-transactions.js';
import { UserSearchController, UsersController } from './users/users.controller.js';
import { UsersRepository } from './users/users.repository.js';
import { UsersService } from './users/users.service.js';

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

@Module({
  imports: [AccountsObjectsModule, PasswordsModule, SessionsModule, UsersModule],
  controllers: [PhoneNumbersController],
  providers: [PhoneLoginService, SmsCodesRepository, SmsCodesService],
  exports: [PhoneLoginService],
})
class PhoneNumbersModule {}

@Module({
  imports: [PasswordsModule, PhoneNumbersModule, SessionsModule, UsersModule],
  controllers: [LoginController, LockoutsController, IdentitiesController, EmailsController],
})
class LoginModule {}

type LockoutStorage = 'redis' | 'postgresql';

const MAX_WAITING = 1_000;
/** Below the timeouts of clients and of their RPC. */
const MAX_WAIT_MS = 3_000;

const STORES: Readonly<Record<LockoutStorage, Provider>> = {
  redis: {
    provide: LOCKOUT_STORE,
    inject: [Redis],
    useFactory: (redis: Redis) => new RedisLockoutStore(redis, LOCKOUT_LIMITS),
  },
  postgresql: {
    provide: LOCKOUT_STORE,
    inject: [Database],
    useFactory: (database: Database) => new PostgresLockoutStore(database, LOCKOUT_LIMITS),
  },
};

@Module({})
class LockoutModule {
  static forRoot(storage: LockoutStorage): DynamicModule {
    const limits = { concurrency: LOCKOUT_LIMITS.lockingFailure, maxWaiting: MAX_WAITING, maxWaitMs: MAX_WAIT_MS };
    return {
      module: LockoutModule,
      global: true,
      providers: [
        STORES[storage],
        LockoutService,
        { provide: LoginAttemptLimiter, useFactory: () => new LoginAttemptLimiter(limits) },
      ],
      exports: [LockoutService],
    };
  }
}

interface AccountsAdapters {
  readonly lockouts: LockoutStorage;
}

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
      ],
      controllers: [IncludesController, RotationsController, SealingController],
      providers: [
        SecretRotationsRepository,
        { provide: ACCOUNTS_CONFIG, useValue: config },
        { provide: Sealer, useFactory: () => sealerOf(config) },
      ],
      exports: [ACCOUNTS_CONFIG, Sealer],
    };
  }
}
