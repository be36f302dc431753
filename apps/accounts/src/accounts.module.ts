import { Controller, type DynamicModule, Inject, Module, type Provider } from '@nestjs/common';
import {
  accountsSealingRpc,
  MAX_CODE_TTL_MINUTES,
  type RpcData,
  type RpcReply,
  sealedCodeContext,
  sealedTokenContext,
} from '#contracts';
import { Database, DatabaseModule, OutboxModule } from '#database';
import { RpcHandler } from '#messaging';
import { Metrics } from '#observability';
import { Redis } from '#redis';
import { type SealedTable, Sealer, sealerOf, sealingController } from '#security';
import { PasswordHasher } from '#security/passwords';
import { ACCOUNTS_CONFIG, type AccountsConfig } from './accounts.config.js';
import { ACCOUNTS_SCHEMA, accountsDatabase } from './accounts.database.js';
import { keyContext, type KeyKind, secretContext } from './applications/application.rules.js';
import { ApplicationsModule } from './applications/applications.module.js';
import { EmailsController } from './emails/emails.controller.js';
import { IdentitiesController } from './identities/identities.controller.js';
import { LOCKOUT_LIMITS } from './lockout/lockout.rules.js';
import { LOCKOUT_STORE, LockoutService, LoginAttemptLimiter } from './lockout/lockout.service.js';
import { PostgresLockoutStore } from './lockout/postgres-lockout.store.js';
import { RedisLockoutStore } from './lockout/redis-lockout.store.js';
import { LockoutsController } from './login/lockouts.controller.js';
import { LoginController } from './login/login.controller.js';
import { MailSender, MailTokens } from './messages/mail-sender.js';
import { MessageAllowancesRepository } from './messages/message-allowances.repository.js';
import { AccountsObjectsModule, IncludesController, RolesModule, SessionsModule } from './objects/objects.module.js';
import { IMPORTED_SCHEME, importedPasswordContext, PasswordsService } from './passwords/passwords.service.js';
import { PhoneLoginService } from './phone-numbers/phone-login.service.js';
import { PhoneNumbersController } from './phone-numbers/phone-numbers.controller.js';
import { SmsCodesRepository } from './phone-numbers/sms-codes.repository.js';
import { SmsCodesService } from './phone-numbers/sms-codes.service.js';
import { SecretRotationsRepository } from './secrets/secret-rotations.repository.js';
import { sessionTokenContext } from './sessions/sessions.service.js';
import { DailyCounts, LoginCountsCleanup } from './users/daily-counts.js';
import { IdentitiesRepository } from './users/identities.repository.js';
import { SignUpService } from './users/sign-up.service.js';
import { UserImports } from './users/user-imports.js';
import { UserObjectWrites } from './users/user-object-writes.js';
import { UserSearchController } from './users/user-search.controller.js';
import { UserSearchRepository } from './users/user-search.repository.js';
import { UserTransactions } from './users/user-transactions.js';
import { UsersController } from './users/users.controller.js';
import { identitiesContext, UsersRepository } from './users/users.repository.js';
import { UsersService } from './users/users.service.js';

const applications: SealedTable = {
  name: 'applications',
  table: 'accounts.applications',
  key: { id: 'text' },
  values: [
    { sql: 't.sealed_app_key', column: 'sealed_app_key', context: ({ id = '' }) => keyContext(id, 'app') },
    { sql: 't.sealed_master_key', column: 'sealed_master_key', context: ({ id = '' }) => keyContext(id, 'master') },
    {
      sql: 't.sealed_forward_secret',
      column: 'sealed_forward_secret',
      context: ({ id = '' }) => secretContext(id, 'forwardSecret'),
    },
  ],
};

const oldKeys: SealedTable = {
  name: 'old keys of applications',
  table: 'accounts.old_application_keys',
  key: { app_id: 'text', id: 'uuid' },
  also: { kind: 't.kind' },
  values: [
    {
      sql: 't.sealed_key',
      column: 'sealed_key',
      context: ({ app_id: appId = '', kind }) => keyContext(appId, kind as KeyKind),
    },
  ],
};

const users: SealedTable = {
  name: 'users',
  table: 'accounts.users',
  key: { app_id: 'text', object_id: 'text' },
  values: [
    {
      sql: 't.sealed_session_token',
      column: 'sealed_session_token',
      hashColumn: 'session_token_hash',
      context: ({ object_id: objectId = '' }) => sessionTokenContext(objectId),
    },
    {
      sql: 't.sealed_identities',
      column: 'sealed_identities',
      context: ({ object_id: objectId = '' }) => identitiesContext(objectId),
    },
    {
      sql: `CASE WHEN t.password_hash LIKE '${IMPORTED_SCHEME}%' THEN substr(t.password_hash, ${IMPORTED_SCHEME.length + 1}) END`,
      column: 'password_hash',
      // By this hash a second import recognises the password.
      hashColumn: 'imported_password_hash',
      set: (sealed) => `'${IMPORTED_SCHEME}' || ${sealed}`,
      context: ({ object_id: objectId = '' }) => importedPasswordContext(objectId),
    },
  ],
};

const TOKEN_FIELD = `CASE WHEN t.payload ? 'sealedToken' THEN 'sealedToken' ELSE 'sealedCode' END`;

/** Unpublished events: tokens of mailed links and codes of text messages. */
const events: SealedTable = {
  name: 'events to publish',
  table: 'accounts.outbox',
  key: { id: 'bigint' },
  also: {
    field: TOKEN_FIELD,
    appId: `t.payload ->> 'appId'`,
    userId: `t.payload ->> 'userId'`,
    mobilePhoneNumber: `t.payload ->> 'mobilePhoneNumber'`,
  },
  values: [
    {
      sql: `COALESCE(t.payload ->> 'sealedToken', t.payload ->> 'sealedCode')`,
      column: 'payload',
      set: (sealed) => `t.payload || jsonb_build_object(${TOKEN_FIELD}, ${sealed})`,
      context: ({ field, appId = '', userId = '', mobilePhoneNumber = '' }) =>
        field === 'sealedToken'
          ? sealedTokenContext({ appId, userId })
          : sealedCodeContext({ appId, mobilePhoneNumber }),
    },
  ],
};

export const SealingController = sealingController(accountsSealingRpc, Database, [
  applications,
  oldKeys,
  users,
  events,
]);

type Rpc = typeof accountsSealingRpc;

const MINUTE_MS = 60_000;

@Controller()
class RotationsController {
  constructor(
    private readonly rotations: SecretRotationsRepository,
    @Inject(ACCOUNTS_CONFIG) private readonly config: Pick<AccountsConfig, 'linkLifetimesMs'>,
  ) {}

  @RpcHandler(accountsSealingRpc.noteRotation)
  async noteRotation({ keyId, isChanged }: RpcData<Rpc['noteRotation']>): Promise<RpcReply<Rpc['noteRotation']>> {
    await this.rotations.record(keyId, isChanged);
    return {};
  }

  /** Until when links and codes in transit may need a replaced secret: the last ones were made just before the rotation was complete. */
  @RpcHandler(accountsSealingRpc.getRotation)
  async getRotation({ keyId }: RpcData<Rpc['getRotation']>): Promise<RpcReply<Rpc['getRotation']>> {
    const completedAt = await this.rotations.find(keyId);
    if (completedAt === undefined) return { linksUntil: null, codesUntil: null };
    const after = (milliseconds: number) => new Date(completedAt.getTime() + milliseconds).toISOString();
    const { linkLifetimesMs } = this.config;
    return {
      linksUntil: after(Math.max(linkLifetimesMs.verifyEmail, linkLifetimesMs.resetPassword)),
      codesUntil: after(MAX_CODE_TTL_MINUTES * MINUTE_MS),
    };
  }
}

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
  imports: [PasswordsModule, SessionsModule, UsersModule],
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
