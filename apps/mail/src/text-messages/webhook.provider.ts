import { Injectable } from '@nestjs/common';
import type { TextMessageProviderCredentials } from '#contracts';
import { DeliveryRefused } from '../deliveries/delivery.channel.js';
import { ProviderHttp } from './provider-http.js';
import type { TextMessage, TextMessageProvider } from './text-message.provider.js';
import { webhookSignature } from './webhook-signature.js';

const MS_PER_SECOND = 1_000;
/** A server that is asked too fast, or was too slow itself, takes the message later. */
const LATER_STATUSES: readonly number[] = [408, 429];

/** Gives each message to an address of the application's own, signed. */
@Injectable()
export class WebhookProvider implements TextMessageProvider<TextMessageProviderCredentials<'webhook'>> {
  constructor(private readonly http: ProviderHttp) {}

  async send(message: TextMessage, { url, secret }: TextMessageProviderCredentials<'webhook'>): Promise<void> {
    const body = JSON.stringify(message);
    const timestamp = String(Math.floor(Date.now() / MS_PER_SECOND));
    const headers = {
      'content-type': 'application/json',
      'x-gatepost-timestamp': timestamp,
      'x-gatepost-signature': webhookSignature(secret, timestamp, body),
    };
    const { status } = await this.http.send(new URL(url), { method: 'POST', headers, body });
    if (status >= 200 && status < 300) return;
    const problem = `the webhook answers with status ${status}`;
    if (status >= 400 && status < 500 && !LATER_STATUSES.includes(status)) throw new DeliveryRefused(problem);
    throw new Error(problem);
  }
}
