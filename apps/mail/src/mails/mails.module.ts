import { Module } from '@nestjs/common';
import { Clock } from '#bootstrap';
import { DeliveriesModule } from '../deliveries/deliveries.module.js';
import { DeliverySender } from '../deliveries/delivery-sender.js';
import { DeliveryChannel } from '../deliveries/delivery.channel.js';
import { MAIL_CONFIG, type MailConfig } from '../mail.config.js';
import { TemplatesController } from '../templates/templates.controller.js';
import { TemplatesRepository } from '../templates/templates.repository.js';
import { TemplatesService } from '../templates/templates.service.js';
import { FileChannel, MailComposer, SmtpChannel } from './mail.channels.js';
import { MailsController } from './mails.controller.js';
import { RecipientsRepository } from './recipients.repository.js';

/** Mails, by SMTP or into files, and the templates from which they are rendered. */
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
export class MailsModule {
  constructor(sender: DeliverySender, channel: DeliveryChannel) {
    sender.register(channel);
  }
}
