import { Inject, Injectable } from '@nestjs/common';
import { z } from 'zod';
import type { TextMessageProviderCredentials } from '#contracts';
import { DeliveryRefused } from '../deliveries/delivery.channel.js';
import { MAIL_CONFIG, type MailConfig } from '../mail.config.js';
import { ProviderHttp } from './provider-http.js';
import type { TextMessage, TextMessageProvider } from './text-message.provider.js';

/** Of a failure only its number: Twilio's text holds the recipient. */
const failure = z.object({ code: z.number().int() });

/** Twilio's own number for "too many requests", whatever status it comes with. */
const TOO_MANY_REQUESTS = 20_429;
const BAD_REQUEST = 400;

/** Sends over Twilio's API. It knows no idempotence: a message whose answer is lost may come twice. */
@Injectable()
export class TwilioProvider implements TextMessageProvider<TextMessageProviderCredentials<'twilio'>> {
  constructor(
    private readonly http: ProviderHttp,
    @Inject(MAIL_CONFIG) private readonly config: Pick<MailConfig, 'twilioUrl'>,
  ) {}

  async send(message: TextMessage, credentials: TextMessageProviderCredentials<'twilio'>): Promise<void> {
    const { accountSid, authToken } = credentials;
    const url = new URL(`${this.config.twilioUrl}/2010-04-01/Accounts/${accountSid}/Messages.json`);
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      authorization: `Basic ${Buffer.from(`${accountSid}:${authToken}`).toString('base64')}`,
    };
    const { status, text } = await this.http.send(url, { method: 'POST', headers, body: formOf(message, credentials) });
    if (status >= 200 && status < 300) return;
    const code = codeIn(text);
    const problem = `Twilio answers with status ${status}${code === undefined ? '' : `, error ${code}`}`;
    // Numbers that are none, that have opted out, or that no message reaches. Credentials that are refused can be mended.
    if (status === BAD_REQUEST && code !== undefined && code !== TOO_MANY_REQUESTS) throw new DeliveryRefused(problem);
    throw new Error(problem);
  }
}

function formOf(
  { to, text }: TextMessage,
  { from, messagingServiceSid }: TextMessageProviderCredentials<'twilio'>,
): string {
  const sender = from === undefined ? { MessagingServiceSid: messagingServiceSid ?? '' } : { From: from };
  return new URLSearchParams({ To: to, Body: text, ...sender }).toString();
}

function codeIn(text: string): number | undefined {
  try {
    return failure.safeParse(JSON.parse(text)).data?.code;
  } catch {
    return undefined;
  }
}
