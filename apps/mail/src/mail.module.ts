import { type DynamicModule, Module } from '@nestjs/common';
import { ApplicationDirectory } from '#admission';
import { Clock } from '#bootstrap';
import { mailSealingRpc } from '#contracts';
import { DatabaseModule, InboxModule } from '#database';
import { Readiness } from '#observability';
import { type SealedTable, Sealer, sealerOf, sealingController } from '#security';
import { DeliveriesRepository, RecipientsRepository } from './deliveries/deliveries.repository.js';
import { DeliveriesController, DeliveriesService } from './deliveries/deliveries.service.js';
import { DeliveryLogRepository, RetentionJob } from './deliveries/delivery-log.repository.js';
import { DeliverySender } from './deliveries/delivery-sender.js';
import { DeliveryChannel } from './deliveries/delivery.channel.js';
import { contentContext } from './deliveries/delivery.rules.js';
import { MAIL_CONFIG, type MailConfig, MailDatabase } from './mail.config.js';
import { mailDatabase } from './mail.database.js';
import { FileChannel, MailComposer, SmtpChannel } from './mails/mail.channels.js';
import { MailsController } from './mails/mails.controller.js';
import { TemplatesController } from './templates/templates.controller.js';
import { TemplatesRepository } from './templates/templates.repository.js';
import { TemplatesService } from './templates/templates.service.js';
import {
  FileTextMessageProvider,
  ProviderHttp,
  SmsChannel,
  TwilioProvider,
  WebhookProvider,
} from './text-messages/sms.channel.js';
import { TextMessageProvidersRepository } from './text-messages/text-message-providers.repository.js';
import { providerContext, TextMessageProvidersService } from './text-messages/text-message-providers.service.js';
import { TextMessageProvidersController, TextMessagesController } from './text-messages/text-messages.controller.js';

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

/** The queue of deliveries, and the workers that send them. Channels register with `DeliverySender`. */
@Module({
  controllers: [DeliveriesController],
  providers: [DeliveriesRepository, DeliveriesService, DeliveryLogRepository, DeliverySender],
  exports: [DeliveriesService, DeliverySender],
})
class DeliveriesModule {
  constructor(readiness: Readiness, deliveries: DeliveriesService) {
    readiness.register('secret (mail)', () => deliveries.assertSecretFits());
  }
}

@Module({
  imports: [DeliveriesModule],
  controllers: [MailsController, TemplatesController],
  providers: [
    Clock,
    MailComposer,
    RecipientsRepository,
    TemplatesRepository,
    TemplatesService,
    {
      provide: DeliveryChannel,
      inject: [MailComposer, MAIL_CONFIG],
      useFactory: (composer: MailComposer, config: MailConfig) =>
        config.smtp === undefined ? new FileChannel(composer, config) : new SmtpChannel(composer, config.smtp),
    },
  ],
})
class MailsModule {
  constructor(sender: DeliverySender, channel: DeliveryChannel) {
    sender.register(channel);
  }
}

@Module({
  imports: [DeliveriesModule],
  controllers: [TextMessagesController, TextMessageProvidersController],
  providers: [
    ApplicationDirectory,
    FileTextMessageProvider,
    ProviderHttp,
    SmsChannel,
    TextMessageProvidersRepository,
    TextMessageProvidersService,
    TwilioProvider,
    WebhookProvider,
  ],
})
class TextMessagesModule {
  constructor(
    sender: DeliverySender,
    channel: SmsChannel,
    readiness: Readiness,
    providers: TextMessageProvidersService,
  ) {
    sender.register(channel);
    readiness.register('secret (text message providers)', () => providers.assertSecretFits());
  }
}

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
        { provide: MAIL_CONFIG, useValue: config },
        { provide: Sealer, useFactory: () => sealerOf(config) },
      ],
      exports: [MAIL_CONFIG, Sealer, InboxModule],
    };
  }
}
