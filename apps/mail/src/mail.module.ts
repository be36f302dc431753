import { type DynamicModule, Module } from '@nestjs/common';
import { mailSealingRpc } from '#contracts';
import { DatabaseModule, InboxModule } from '#database';
import { type SealedTable, Sealer, sealerOf, sealingController } from '#security';
import { contentContext } from './deliveries/delivery.rules.js';
import { MAIL_CONFIG, type MailConfig } from './mail.config.js';
import { MailDatabase, mailDatabase } from './mail.database.js';
import { MailsModule } from './mails/mails.module.js';
import { RetentionJob, RetentionRepository } from './retention/retention.job.js';
import { providerContext } from './text-messages/text-message-providers.service.js';
import { TextMessagesModule } from './text-messages/text-messages.module.js';

/** The mail service sends the mails and text messages that other services request by events. */
@Module({})
export class MailModule {
  static forRoot(config: MailConfig): DynamicModule {
    const database = mailDatabase(config.databaseUrl, config.databasePool);
    return {
      module: MailModule,
      global: true,
      imports: [
        DatabaseModule.forRoot(database, MailDatabase),
        InboxModule.forSchema('mail', MailDatabase),
        MailsModule,
        TextMessagesModule,
      ],
      controllers: [sealingController(mailSealingRpc, MailDatabase, SEALED_TABLES)],
      providers: [
        RetentionJob,
        RetentionRepository,
        { provide: MAIL_CONFIG, useValue: config },
        { provide: Sealer, useFactory: () => sealerOf(config) },
      ],
      exports: [MAIL_CONFIG, Sealer, InboxModule],
    };
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
