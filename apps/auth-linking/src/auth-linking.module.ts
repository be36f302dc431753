import { type DynamicModule, Module } from '@nestjs/common';
import { ApplicationDirectory } from '#admission';
import { DatabaseModule } from '#database';
import { AUTH_LINKING_CONFIG, type AuthLinkingConfig } from './auth-linking.config.js';
import { AuthLinkingDatabase, authLinkingDatabase } from './auth-linking.database.js';
import { CredentialsModule } from './credentials/credentials.module.js';
import { LinkingController } from './linking/linking.controller.js';
import { PlatformHttp } from './platforms/platform-http.js';
import { PlatformVerifiers } from './platforms/platform-verifiers.js';

/** The auth-linking service verifies third-party accounts, and stores the credentials for that. */
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
