import { Module } from '@nestjs/common';
import { DeliveriesModule } from '../deliveries/deliveries.module.js';
import { DeliverySender } from '../deliveries/delivery-sender.js';
import { TextMessageProvidersModule } from '../text-message-providers/text-message-providers.module.js';
import { FileTextMessageProvider } from './file-text-message.provider.js';
import { ProviderHttp } from './provider-http.js';
import { SmsChannel } from './sms.channel.js';
import { TextMessagesController } from './text-messages.controller.js';
import { TextMessagesService } from './text-messages.service.js';
import { TwilioProvider } from './twilio.provider.js';
import { WebhookProvider } from './webhook.provider.js';

/** Text messages: what asks for them, and who carries them. */
@Module({
  imports: [DeliveriesModule, TextMessageProvidersModule],
  controllers: [TextMessagesController],
  providers: [FileTextMessageProvider, ProviderHttp, SmsChannel, TextMessagesService, TwilioProvider, WebhookProvider],
})
export class TextMessagesModule {
  constructor(sender: DeliverySender, channel: SmsChannel) {
    sender.register(channel);
  }
}
