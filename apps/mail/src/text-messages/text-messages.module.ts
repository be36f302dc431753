import { Module } from '@nestjs/common';
import { ApplicationDirectory } from '#admission';
import { Readiness } from '#observability';
import { DeliveriesModule } from '../deliveries/deliveries.module.js';
import { DeliverySender } from '../deliveries/delivery-sender.js';
import { FileTextMessageProvider, ProviderHttp, SmsChannel, TwilioProvider, WebhookProvider } from './sms.channel.js';
import { TextMessageProvidersRepository } from './text-message-providers.repository.js';
import { TextMessageProvidersService } from './text-message-providers.service.js';
import { TextMessageProvidersController, TextMessagesController } from './text-messages.controller.js';

/** Text messages, and the providers that operators set for applications. */
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
export class TextMessagesModule {
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
