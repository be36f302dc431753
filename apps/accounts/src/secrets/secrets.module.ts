import { Inject, Module } from '@nestjs/common';
import { Database } from '#database';
import { ProcessFacts } from '#observability';
import { SealedRows, Sealer, weaknessOf } from '#security';
import { ACCOUNTS_CONFIG, type AccountsConfig } from '../accounts.config.js';
import { SEALED_TABLES } from './sealed-tables.js';
import { SecretRotationsRepository } from './secret-rotations.repository.js';
import { SecretRotationsService } from './secret-rotations.service.js';
import { SecretsController } from './secrets.controller.js';

/** What of accounts is sealed with the deployment's secret, and how that is replaced. */
@Module({
  controllers: [SecretsController],
  providers: [
    SecretRotationsRepository,
    SecretRotationsService,
    {
      provide: SealedRows,
      inject: [Database, Sealer, ProcessFacts],
      useFactory: (database: Database, sealer: Sealer, { instance }: ProcessFacts) =>
        new SealedRows(database, sealer, SEALED_TABLES, instance),
    },
  ],
})
export class SecretsModule {
  constructor(facts: ProcessFacts, @Inject(ACCOUNTS_CONFIG) { secret }: AccountsConfig) {
    const weakness = weaknessOf(secret) ?? null;
    facts.setting('secretWeakness', () => weakness);
  }
}
