import { Inject, Module } from '@nestjs/common';
import { ProcessFacts } from '#observability';
import { SealedRows, Sealer, weaknessOf } from '#security';
import { AUTH_LINKING_CONFIG, type AuthLinkingConfig } from '../auth-linking.config.js';
import { AuthLinkingDatabase } from '../auth-linking.database.js';
import { CredentialsModule } from '../credentials/credentials.module.js';
import { SEALED_TABLES } from './sealed-tables.js';
import { SecretsController } from './secrets.controller.js';

/** What of auth-linking is sealed with the deployment's secret, and how that is replaced. */
@Module({
  imports: [CredentialsModule],
  controllers: [SecretsController],
  providers: [
    {
      provide: SealedRows,
      inject: [AuthLinkingDatabase, Sealer, ProcessFacts],
      useFactory: (database: AuthLinkingDatabase, sealer: Sealer, { instance }: ProcessFacts) =>
        new SealedRows(database, sealer, SEALED_TABLES, instance),
    },
  ],
})
export class SecretsModule {
  constructor(facts: ProcessFacts, @Inject(AUTH_LINKING_CONFIG) { secret }: AuthLinkingConfig) {
    const weakness = weaknessOf(secret) ?? null;
    facts.setting('secretWeakness', () => weakness);
  }
}
