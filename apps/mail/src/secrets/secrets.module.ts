import { Inject, Module } from '@nestjs/common';
import { ProcessFacts } from '#observability';
import { SealedRows, Sealer, weaknessOf } from '#security';
import { MAIL_CONFIG, type MailConfig } from '../mail.config.js';
import { MailDatabase } from '../mail.database.js';
import { SEALED_TABLES } from './sealed-tables.js';
import { SecretsController } from './secrets.controller.js';

/** What of mail is sealed with the deployment's secret, and how that is replaced. */
@Module({
  controllers: [SecretsController],
  providers: [
    {
      provide: SealedRows,
      inject: [MailDatabase, Sealer, ProcessFacts],
      useFactory: (database: MailDatabase, sealer: Sealer, { instance }: ProcessFacts) =>
        new SealedRows(database, sealer, SEALED_TABLES, instance),
    },
  ],
})
export class SecretsModule {
  constructor(facts: ProcessFacts, @Inject(MAIL_CONFIG) { secret }: MailConfig) {
    const weakness = weaknessOf(secret) ?? null;
    facts.setting('secretWeakness', () => weakness);
  }
}
