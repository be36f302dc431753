import { type DynamicModule, Module } from '@nestjs/common';
import { DatabaseModule, InboxModule } from '#database';
import { Sealer, sealerOf } from '#security';
import { MAIL_CONFIG, type MailConfig } from './mail.config.js';
import { MailDatabase, mailDatabase } from './mail.database.js';
import { MailsModule } from './mails/mails.module.js';
import { RetentionJob, RetentionRepository } from './retention/retention.job.js';
import { SecretsModule } from './secrets/secrets.module.js';
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
        SecretsModule,
        TextMessagesModule,
      ],
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
