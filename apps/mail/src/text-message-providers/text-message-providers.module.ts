import { Module } from '@nestjs/common';
import { Readiness } from '#observability';
import { TextMessageProvidersController } from './text-message-providers.controller.js';
import { TextMessageProvidersRepository } from './text-message-providers.repository.js';
import { TextMessageProvidersService } from './text-message-providers.service.js';

/** Who carries text messages, set by an application's operator. */
@Module({
  controllers: [TextMessageProvidersController],
  providers: [TextMessageProvidersRepository, TextMessageProvidersService],
  exports: [TextMessageProvidersService],
})
export class TextMessageProvidersModule {
  constructor(readiness: Readiness, providers: TextMessageProvidersService) {
    readiness.register('secret (text message providers)', () => providers.assertSecretFits());
  }
}
