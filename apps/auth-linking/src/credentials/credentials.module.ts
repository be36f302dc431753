import { Inject, Module } from '@nestjs/common';
import { ProcessInfo, Readiness } from '#observability';
import { SealedRows, type SealedTable, Sealer, sealerOf, weaknessOf } from '#security';
import { AUTH_LINKING_CONFIG, type AuthLinkingConfig } from '../auth-linking.config.js';
import { AuthLinkingDatabase } from '../auth-linking.database.js';
import { CredentialsController, SecretsController } from './credentials.controller.js';
import { CredentialsRepository } from './credentials.repository.js';
import { credentialsContext, CredentialsService } from './credentials.service.js';

/** The platform credentials of applications, and the replacement of the secret that seals them. */
@Module({
  controllers: [CredentialsController, SecretsController],
  providers: [
    CredentialsService,
    CredentialsRepository,
    { provide: Sealer, inject: [AUTH_LINKING_CONFIG], useFactory: (config: AuthLinkingConfig) => sealerOf(config) },
    {
      provide: SealedRows,
      inject: [AuthLinkingDatabase, Sealer, ProcessInfo],
      useFactory: (database: AuthLinkingDatabase, sealer: Sealer, { instance }: ProcessInfo) =>
        new SealedRows(database, sealer, SEALED_TABLES, instance),
    },
  ],
  exports: [CredentialsService],
})
export class CredentialsModule {
  constructor(
    readiness: Readiness,
    credentials: CredentialsService,
    facts: ProcessInfo,
    @Inject(AUTH_LINKING_CONFIG) { secret }: AuthLinkingConfig,
  ) {
    readiness.register('secret (auth_linking)', () => credentials.assertSecretFits());
    const weakness = weaknessOf(secret) ?? null;
    facts.setting('secretWeakness', () => weakness);
  }
}

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
