import { Controller, Inject, Module } from '@nestjs/common';
import { mailSealingRpc, type RpcData, type RpcReply } from '#contracts';
import { RpcHandler } from '#messaging';
import { ProcessInfo } from '#observability';
import { SealedRows, type SealedTable, Sealer, weaknessOf } from '#security';
import { contentContext } from '../deliveries/delivery.rules.js';
import { MAIL_CONFIG, type MailConfig } from '../mail.config.js';
import { MailDatabase } from '../mail.database.js';
import { providerContext } from '../text-messages/text-message-providers.service.js';

type Rpc = typeof mailSealingRpc;

/** Lets operators replace the deployment's secret. */
@Controller()
class SecretsController {
  constructor(private readonly rows: SealedRows) {}

  @RpcHandler(mailSealingRpc.describe)
  describe(_: RpcData<Rpc['describe']>): Promise<RpcReply<Rpc['describe']>> {
    return Promise.resolve(this.rows.describe());
  }

  @RpcHandler(mailSealingRpc.walk)
  walk(request: RpcData<Rpc['walk']>): Promise<RpcReply<Rpc['walk']>> {
    return this.rows.walk(request);
  }
}

/** The replacement of the deployment's secret in the tables of the mail service. */
@Module({
  controllers: [SecretsController],
  providers: [
    {
      provide: SealedRows,
      inject: [MailDatabase, Sealer, ProcessInfo],
      useFactory: (database: MailDatabase, sealer: Sealer, { instance }: ProcessInfo) =>
        new SealedRows(database, sealer, SEALED_TABLES, instance),
    },
  ],
})
export class SecretsModule {
  constructor(facts: ProcessInfo, @Inject(MAIL_CONFIG) { secret }: MailConfig) {
    const weakness = weaknessOf(secret) ?? null;
    facts.setting('secretWeakness', () => weakness);
  }
}

/** Every column with sealed values. */
const SEALED_TABLES: readonly SealedTable[] = [
  {
    name: 'deliveries',
    table: 'mail.deliveries',
    key: { id: 'uuid' },
    values: [{ sql: 't.sealed_content', column: 'sealed_content', context: ({ id = '' }) => contentContext(id) }],
  },
  {
    name: 'providers of text messages',
    table: 'mail.text_message_providers',
    key: { app_id: 'text' },
    values: [
      {
        sql: 't.sealed_secrets',
        column: 'sealed_secrets',
        context: ({ app_id: appId = '' }) => providerContext(appId),
      },
    ],
  },
];
