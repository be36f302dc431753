import { Module } from '@nestjs/common';
import { DeliveriesModule } from '../deliveries/deliveries.module.js';
import { DeliverySender } from '../deliveries/delivery-sender.js';
import { DeliveryChannel } from '../deliveries/delivery.channel.js';
import { MAIL_CONFIG, type MailConfig } from '../mail.config.js';
import { TemplatesModule } from '../templates/templates.module.js';
import { FileChannel, MailComposer, SmtpChannel } from './mail.channels.js';
import { MailsController } from './mails.controller.js';
import { MailsService } from './mails.service.js';
import { RecipientsRepository } from './recipients.repository.js';

/** Mails, by SMTP or into files. */
@Module({
  imports: [DeliveriesModule, TemplatesModule],
  controllers: [MailsController],
  providers: [
    MailComposer,
    MailsService,
    RecipientsRepository,
    {
      provide: DeliveryChannel,
      inject: [MailComposer, MAIL_CONFIG],
      useFactory: (composer: MailComposer, config: MailConfig) =>
        config.smtp === undefined ? new FileChannel(composer, config) : new SmtpChannel(composer, config.smtp),
    },
  ],
})
export class MailsModule {
  constructor(sender: DeliverySender, channel: DeliveryChannel) {
    sender.register(channel);
  }
}
