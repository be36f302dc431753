import { Module } from '@nestjs/common';
import { authLinkingSealingRpc } from '#contracts';
import { Readiness } from '#observability';
import { type SealedTable, Sealer, sealerOf, sealingController } from '#security';
import { AUTH_LINKING_CONFIG, type AuthLinkingConfig } from '../auth-linking.config.js';
import { AuthLinkingDatabase } from '../auth-linking.database.js';
import { CredentialsController } from './credentials.controller.js';
import { CredentialsRepository } from './credentials.repository.js';
import { credentialsContext, CredentialsService } from './credentials.service.js';

/** Every column with sealed values. */
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

/** The platform credentials of applications, and the replacement of the secret that seals them. */
@Module({
  controllers: [CredentialsController, sealingController(authLinkingSealingRpc, AuthLinkingDatabase, SEALED_TABLES)],
  providers: [
    CredentialsService,
    CredentialsRepository,
    { provide: Sealer, inject: [AUTH_LINKING_CONFIG], useFactory: (config: AuthLinkingConfig) => sealerOf(config) },
  ],
  exports: [CredentialsService],
})
export class CredentialsModule {
  constructor(readiness: Readiness, credentials: CredentialsService) {
    readiness.register('secret (auth_linking)', () => credentials.assertSecretFits());
  }
}
