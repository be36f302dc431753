import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { TextMessageProviderCredentials } from '#contracts';
import { OutboundClient, OutboundError } from '#outbound';
import { DeliveryChannel, DeliveryRefused, writeWhole } from '../deliveries/delivery.channel.js';
import type { Delivery } from '../deliveries/delivery.rules.js';
import { MAIL_CONFIG, type MailConfig } from '../mail.config.js';
import { TextMessageProvidersService } from './text-message-providers.service.js';
import type { TextMessage, TextMessageContent, TextMessageProvider } from './text-message.rules.js';

/** Writes each message into a file instead of sending it, and shows it to a developer. */
@Injectable()
export class FileTextMessageProvider implements TextMessageProvider<void> {
  constructor(@Inject(MAIL_CONFIG) private readonly config: Pick<MailConfig, 'textMessageFolder' | 'show'>) {}

  /** The file is named by the message: whoever sends it again writes the same one. It appears whole. */
  async send(message: TextMessage): Promise<void> {
    const file = join(this.config.textMessageFolder, `${message.id}.json`);
    await writeWhole(file, `${JSON.stringify(message, undefined, 2)}\n`);
    this.config.show(`Text message to ${message.to}, code ${message.code}: ${file}`);
  }
}

const FAILURES_BEFORE_REST = 3;
const REST_MS = 5_000;
const MAX_APPLICATIONS = 10_000;

interface Failures {
  readonly count: number;
  readonly until: number;
}

/**
 * Which applications' providers do not answer. They rest for a moment, so that messages to them do not take the places of those
 * that others wait for.
 */
class ProviderRest {
  readonly #failures = new LRUCache<string, Failures>({ max: MAX_APPLICATIONS });

  isResting(appId: string): boolean {
    return performance.now() < (this.#failures.get(appId)?.until ?? 0);
  }

  noteAnswer(appId: string): void {
    this.#failures.delete(appId);
  }

  noteSilence(appId: string): void {
    const count = (this.#failures.get(appId)?.count ?? 0) + 1;
    this.#failures.set(appId, { count, until: count < FAILURES_BEFORE_REST ? 0 : performance.now() + REST_MS });
  }
}

const TIMEOUT_MS = 5_000;
const MAX_ANSWER_BYTES = 65_536;
/** Connections to one provider's server; more requests at once wait for one. */
const MAX_CONNECTIONS = 16;

/** The one way out to providers of text messages: never into networks of our own, bounded in time and size. */
@Injectable()
export class ProviderHttp extends OutboundClient implements OnApplicationShutdown {
  constructor(@Inject(MAIL_CONFIG) { internalNetworks }: Pick<MailConfig, 'internalNetworks'>) {
    super({
      internalNetworks,
      timeoutMs: TIMEOUT_MS,
      maxAnswerBytes: MAX_ANSWER_BYTES,
      maxConnections: MAX_CONNECTIONS,
    });
  }

  async onApplicationShutdown(): Promise<void> {
    await this.close();
  }
}

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

/** What proves to a webhook that a request is ours, and when it was made (docs/mail.md shows how it is checked). */
function webhookSignature(secret: string, timestamp: string, body: string): string {
  return `v1=${createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')}`;
}

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
