import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { TextMessageOptions, TextMessageProviderCredentials } from '#contracts';
import { OutboundClient, OutboundError } from '#outbound';
import { DeliveryChannel, DeliveryRefused, writeFileAtomically } from '../deliveries/delivery.channel.js';
import type { Delivery } from '../deliveries/delivery.rules.js';
import { MAIL_CONFIG, type MailConfig } from '../mail.config.js';
import { TextMessageProvidersService } from './text-message-providers.service.js';

export interface TextMessageContent extends Pick<TextMessageOptions, 'smsType' | 'template' | 'sign' | 'variables'> {
  readonly text: string;
  readonly code: string;
}

export interface TextMessage extends Pick<TextMessageOptions, 'smsType' | 'template' | 'sign' | 'variables'> {
  readonly id: string;
  readonly appId: string;
  readonly to: string;
  readonly text: string;
  /** The code in the text, for providers that fill templates of their own. */
  readonly code: string;
}

/** Sends text messages. @template Credentials the settings of the application */
export interface TextMessageProvider<Credentials> {
  /** @throws DeliveryRefused if the message is not to be retried. Texts of errors are stored: they contain no number, text or secret. */
  send(message: TextMessage, credentials: Credentials): Promise<void>;
}

@Injectable()
export class FileTextMessageProvider implements TextMessageProvider<void> {
  constructor(@Inject(MAIL_CONFIG) private readonly config: Pick<MailConfig, 'textMessageFolder' | 'show'>) {}

  /** The file has the name of the message's id, so a repeated send overwrites it. */
  async send(message: TextMessage): Promise<void> {
    const file = join(this.config.textMessageFolder, `${message.id}.json`);
    await writeFileAtomically(file, `${JSON.stringify(message, undefined, 2)}\n`);
    this.config.show(`Text message to ${message.to}, code ${message.code}: ${file}`);
  }
}

const FAILURES_BEFORE_BACKOFF = 3;
const BACKOFF_MS = 5_000;
const MAX_APPLICATIONS = 10_000;

interface Failures {
  readonly count: number;
  readonly until: number;
}

/** Pauses applications whose providers do not respond, so that their messages do not occupy the slots of other applications. */
class ProviderBackoff {
  readonly #failures = new LRUCache<string, Failures>({ max: MAX_APPLICATIONS });
  /** The number of messages that are being sent now. */
  readonly #sending = new Map<string, number>();

  /** Those whose time has not passed yet, and those that are being probed. */
  paused(): readonly string[] {
    const now = performance.now();
    return this.#failing().filter(
      (appId) => now < (this.#failures.peek(appId)?.until ?? 0) || this.#sending.has(appId),
    );
  }

  /** Those that get a single message, to find out whether their provider is back. */
  probed(): readonly string[] {
    const paused = new Set(this.paused());
    return this.#failing().filter((appId) => !paused.has(appId));
  }

  begin(appId: string): void {
    this.#sending.set(appId, (this.#sending.get(appId) ?? 0) + 1);
  }

  end(appId: string): void {
    const left = (this.#sending.get(appId) ?? 1) - 1;
    if (left > 0) this.#sending.set(appId, left);
    else this.#sending.delete(appId);
  }

  recordResponse(appId: string): void {
    this.#failures.delete(appId);
  }

  recordTimeout(appId: string): void {
    const count = (this.#failures.get(appId)?.count ?? 0) + 1;
    this.#failures.set(appId, { count, until: performance.now() + BACKOFF_MS });
  }

  #failing(): string[] {
    return [...this.#failures].flatMap(([appId, { count }]) => (count < FAILURES_BEFORE_BACKOFF ? [] : [appId]));
  }
}

const TIMEOUT_MS = 5_000;
const MAX_RESPONSE_BYTES = 65_536;
/** A connection for each concurrent send: the timeout would also count the wait for a connection, and cut off a sent message. */
const PARALLEL = 32;

@Injectable()
export class ProviderHttp extends OutboundClient implements OnApplicationShutdown {
  constructor(@Inject(MAIL_CONFIG) { internalNetworks }: Pick<MailConfig, 'internalNetworks'>) {
    super({
      internalNetworks,
      timeoutMs: TIMEOUT_MS,
      maxAnswerBytes: MAX_RESPONSE_BYTES,
      maxConnections: PARALLEL,
    });
  }

  async onApplicationShutdown(): Promise<void> {
    await this.close();
  }
}

/** Only the error number, because the text contains the recipient. */
const failure = z.object({ code: z.number().int() });

/** Twilio's error number for "too many requests", with any status. */
const TOO_MANY_REQUESTS = 20_429;
const BAD_REQUEST = 400;

/** Sends over Twilio's API, which has no idempotency keys: a message may arrive twice if its response is lost. */
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
    const problem = `Twilio responds with status ${status}${code === undefined ? '' : `, error ${code}`}`;
    // Invalid, unsubscribed or unreachable numbers. Rejected credentials are retried, because an operator can correct them.
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

/** Proves the sender and the time of a request to a webhook (docs/mail.md describes the check). */
function webhookSignature(secret: string, timestamp: string, body: string): string {
  return `v1=${createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')}`;
}

const MS_PER_SECOND = 1_000;
/** Timeout and rate limit: the server may accept the message later. */
const LATER_STATUSES: readonly number[] = [408, 429];

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
    const problem = `the webhook responds with status ${status}`;
    if (status >= 400 && status < 500 && !LATER_STATUSES.includes(status)) throw new DeliveryRefused(problem);
    throw new Error(problem);
  }
}

@Injectable()
export class SmsChannel extends DeliveryChannel {
  readonly channel = 'sms';
  override readonly parallel = PARALLEL;
  readonly #backoff = new ProviderBackoff();

  constructor(
    private readonly providers: TextMessageProvidersService,
    private readonly files: FileTextMessageProvider,
    private readonly webhook: WebhookProvider,
    private readonly twilio: TwilioProvider,
  ) {
    super();
  }

  /** Applications have separate servers: one that does not respond is no reason to pause the channel. */
  override pausedApplications(): readonly string[] {
    return this.#backoff.paused();
  }

  override probedApplications(): readonly string[] {
    return this.#backoff.probed();
  }

  async send({ id, appId, recipient: to, content }: Delivery): Promise<void> {
    // `TextMessagesController` queues this content.
    const { text, code, ...options } = content as unknown as TextMessageContent;
    const message = { id, appId, to, text, code, ...options };
    this.#backoff.begin(appId);
    try {
      await this.#sendToProvider(message);
      this.#backoff.recordResponse(appId);
    } catch (error) {
      if (error instanceof OutboundError) this.#backoff.recordTimeout(appId);
      if (error instanceof DeliveryRefused) this.#backoff.recordResponse(appId);
      throw error;
    } finally {
      this.#backoff.end(appId);
    }
  }

  async #sendToProvider(message: TextMessage): Promise<void> {
    const settings = await this.providers.find(message.appId);
    if (settings === undefined) await this.files.send(message);
    else if (settings.kind === 'webhook') await this.webhook.send(message, settings.credentials);
    else await this.twilio.send(message, settings.credentials);
  }
}
