import { type DynamicModule, Module } from '@nestjs/common';
import { Sealer } from '#sealing';
import { MAIL_CONFIG, type MailConfig } from './mail.config.js';
import { FileTextMessageProvider } from './text-messages/file-text-message.provider.js';
import { TextMessageProvider } from './text-messages/text-message.provider.js';
import { TextMessagesController } from './text-messages/text-messages.controller.js';
import { TextMessagesService } from './text-messages/text-messages.service.js';

/** The mail service: what other services' events ask to be sent. */
@Module({})
export class MailModule {
  static forRoot(config: MailConfig): DynamicModule {
    return {
      module: MailModule,
      controllers: [TextMessagesController],
      providers: [
        { provide: MAIL_CONFIG, useValue: config },
        { provide: Sealer, useFactory: () => new Sealer(config.secret.reveal()) },
        { provide: TextMessageProvider, useClass: FileTextMessageProvider },
        TextMessagesService,
      ],
    };
  }
}
