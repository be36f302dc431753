import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { Clock } from '#bootstrap';
import { consoleSealingRpc } from '#contracts';
import { DatabaseModule } from '#database';
import { Metrics, ProcessInfo } from '#observability';
import { type SealedTable, Sealer, sealerOf, sealingController } from '#security';
import { PasswordHasher } from '#security/passwords';
import { ApplicationsHandlers } from './applications/applications.handlers.js';
import { CredentialsHandlers } from './applications/credentials.handlers.js';
import { AuditRepository, ConsoleCleanup } from './audit/audit.repository.js';
import { BROKER, type Broker, CONSOLE_CONFIG, type ConsoleConfig, PublicUrl } from './console.config.js';
import { ConsoleDatabase, consoleDatabase } from './console.database.js';
import { HealthHandlers } from './health/health.handlers.js';
import { CONSOLE_HANDLERS } from './http/console-router.js';
import { MessagesHandlers } from './messages/messages.handlers.js';
import { AccessHandlers } from './operators/access.handlers.js';
import { ConsoleController } from './operators/console.controller.js';
import { Issuer } from './operators/issuer.js';
import { OidcRepository } from './operators/oidc.repository.js';
import { OidcService } from './operators/oidc.service.js';
import { OperatorsHandlers } from './operators/operators.handlers.js';
import { OperatorsRepository } from './operators/operators.repository.js';
import { SecondFactorsHandlers } from './operators/second-factors.handlers.js';
import { codesContext, SecondFactors } from './operators/second-factors.js';
import { SecondFactorsRepository } from './operators/second-factors.repository.js';
import { SignInRepository } from './operators/sign-in.repository.js';
import { SignInService } from './operators/sign-in.service.js';
import { DevicesHandlers } from './pushes/devices.handlers.js';
import { PushesHandlers } from './pushes/pushes.handlers.js';
import { RequestCache } from './routing/console-handler.js';
import { RolesHandlers } from './users/roles.handlers.js';
import { UsersHandlers } from './users/users.handlers.js';

const HANDLERS: readonly Type[] = [
  AccessHandlers,
  ApplicationsHandlers,
  CredentialsHandlers,
  DevicesHandlers,
  HealthHandlers,
  MessagesHandlers,
  OperatorsHandlers,
  PushesHandlers,
  RolesHandlers,
  SecondFactorsHandlers,
  UsersHandlers,
];

const SEALED_TABLES: readonly SealedTable[] = [
  {
    name: 'one-time codes of operators',
    table: 'console.one_time_codes',
    key: { operator_id: 'uuid', is_confirmed: 'boolean' },
    values: [
      {
        sql: 't.sealed_secret',
        column: 'sealed_secret',
        context: ({ operator_id: operatorId = '' }) => codesContext(operatorId),
      },
    ],
  },
];

export const SealingController = sealingController(consoleSealingRpc, ConsoleDatabase, SEALED_TABLES);

/** Operators sign in seldom: one hash at a time leaves the processors to the users. */
const HASHING = { passwordConcurrency: 1, passwordQueueLimit: 32 };

@Module({})
export class ConsoleModule {
  constructor(processInfo: ProcessInfo, url: PublicUrl) {
    processInfo.setting('consoleUrl', () => url.origin);
  }

  /** @param broker null in one process */
  static forRoot(config: ConsoleConfig, broker: Broker | null): DynamicModule {
    return {
      module: ConsoleModule,
      imports: [DatabaseModule.forRoot(consoleDatabase(config.databaseUrl, config.databasePool), ConsoleDatabase)],
      controllers: [ConsoleController, SealingController],
      providers: [
        ...HANDLERS,
        AuditRepository,
        Clock,
        ConsoleCleanup,
        Issuer,
        OidcRepository,
        OidcService,
        OperatorsRepository,
        PublicUrl,
        RequestCache,
        SecondFactors,
        SecondFactorsRepository,
        SignInRepository,
        SignInService,
        { provide: BROKER, useValue: broker },
        { provide: CONSOLE_CONFIG, useValue: config },
        { provide: CONSOLE_HANDLERS, useValue: HANDLERS },
        { provide: Sealer, useFactory: () => sealerOf(config) },
        {
          provide: PasswordHasher,
          inject: [Metrics],
          useFactory: (metrics: Metrics) =>
            new PasswordHasher({ ...HASHING, passwordCost: config.passwordCost }, metrics),
        },
      ],
    };
  }
}
