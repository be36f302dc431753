import { Injectable } from '@nestjs/common';
import { OutboundError } from '#outbound';
import { DeliveryChannel } from '../deliveries/delivery.channel.js';
import type { Delivery } from '../deliveries/delivery.types.js';
import { TextMessageProvidersService } from '../text-message-providers/text-message-providers.service.js';
import { FileTextMessageProvider } from './file-text-message.provider.js';
import { ProviderRest } from './provider-rest.js';
import type { TextMessage } from './text-message.provider.js';
import type { TextMessageContent } from './text-message.types.js';
import { TwilioProvider } from './twilio.provider.js';
import { WebhookProvider } from './webhook.provider.js';

const PARALLEL = 32;

/** Gives text messages to the provider of their application: files, where it has none. */
@Injectable()
export class SmsChannel extends DeliveryChannel {
  readonly channel = 'sms';
  override readonly parallel = PARALLEL;
  readonly #rest = new ProviderRest();

  constructor(
    private readonly providers: TextMessageProvidersService,
    private readonly files: FileTextMessageProvider,
    private readonly webhook: WebhookProvider,
    private readonly twilio: TwilioProvider,
  ) {
    super();
  }

  async send({ id, appId, recipient: to, content }: Delivery): Promise<void> {
    // What `TextMessagesService` has queued.
    const { text, code, ...options } = content as unknown as TextMessageContent;
    const message = { id, appId, to, text, code, ...options };
    // Each application has a server of its own: one that is silent is no reason to pause the channel.
    if (this.#rest.isResting(appId)) throw new Error('the provider has not answered a moment ago');
    try {
      await this.give(message);
      this.#rest.noteAnswer(appId);
    } catch (error) {
      if (error instanceof OutboundError) this.#rest.noteSilence(appId);
      throw error;
    }
  }

  private async give(message: TextMessage): Promise<void> {
    const settings = await this.providers.find(message.appId);
    if (settings === undefined) await this.files.send(message);
    else if (settings.kind === 'webhook') await this.webhook.send(message, settings.credentials);
    else await this.twilio.send(message, settings.credentials);
  }
}
