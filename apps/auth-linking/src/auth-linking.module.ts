import { Controller, type DynamicModule, Module } from '@nestjs/common';
import { ApplicationDirectory } from '#admission';
import { authLinkingSealingRpc, platformsRpc, type RpcData, type RpcReply } from '#contracts';
import { DatabaseModule } from '#database';
import { RpcHandler } from '#messaging';
import { Readiness } from '#observability';
import { type SealedTable, Sealer, sealerOf, sealingController } from '#security';
import { AUTH_LINKING_CONFIG, type AuthLinkingConfig } from './auth-linking.config.js';
import { AuthLinkingDatabase, authLinkingDatabase } from './auth-linking.database.js';
import { CredentialsRepository } from './credentials/credentials.repository.js';
import { credentialsContext, CredentialsService } from './credentials/credentials.service.js';
import { LinkingController } from './linking/linking.controller.js';
import { PlatformHttp } from './platforms/platform-http.js';
import { PlatformVerifiers } from './platforms/platform-verifiers.js';

type Rpc = typeof platformsRpc;
type Data<Name extends keyof Rpc> = RpcData<Rpc[Name]>;
type Reply<Name extends keyof Rpc> = Promise<RpcReply<Rpc[Name]>>;

@Controller()
export class CredentialsController {
  constructor(private readonly credentials: CredentialsService) {}

  @RpcHandler(platformsRpc.set)
  async set(wanted: Data<'set'>): Reply<'set'> {
    return { credentials: await this.credentials.set(wanted) };
  }

  @RpcHandler(platformsRpc.remove)
  async remove({ appId, platform }: Data<'remove'>): Reply<'remove'> {
    await this.credentials.remove(appId, platform);
    return {};
  }

  @RpcHandler(platformsRpc.list)
  async list({ appId }: Data<'list'>): Reply<'list'> {
    return { platforms: await this.credentials.list(appId) };
  }
}

const SEALED_TABLES: readonly SealedTable[] = [
  {
    name: 'credentials of platforms',
    table: 'auth_linking.platform_credentials',
    key: { app_id: 'text', platform: 'text' },
    values: [
      {
        sql: 't.sealed_secrets',
        column: 'sealed_secrets',
        context: ({ app_id: appId = '', platform = '' }) => credentialsContext(appId, platform),
      },
    ],
  },
];

@Module({
  controllers: [CredentialsController, sealingController(authLinkingSealingRpc, AuthLinkingDatabase, SEALED_TABLES)],
  providers: [
    CredentialsService,
    CredentialsRepository,
    { provide: Sealer, inject: [AUTH_LINKING_CONFIG], useFactory: (config: AuthLinkingConfig) => sealerOf(config) },
  ],
  exports: [CredentialsService],
})
class CredentialsModule {
  constructor(readiness: Readiness, credentials: CredentialsService) {
    readiness.register('secret (auth_linking)', () => credentials.assertSecretFits());
  }
}

@Module({})
export class AuthLinkingModule {
  static forRoot(config: AuthLinkingConfig): DynamicModule {
    const database = authLinkingDatabase(config.databaseUrl, config.databasePool);
    return {
      module: AuthLinkingModule,
      global: true,
      imports: [DatabaseModule.forRoot(database, AuthLinkingDatabase), CredentialsModule],
      controllers: [LinkingController],
      providers: [
        ApplicationDirectory,
        PlatformHttp,
        PlatformVerifiers,
        { provide: AUTH_LINKING_CONFIG, useValue: config },
      ],
      exports: [AUTH_LINKING_CONFIG, ApplicationDirectory],
    };
  }
}
