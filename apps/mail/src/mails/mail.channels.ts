import { join } from 'node:path';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { createTransport, type SendMailOptions } from 'nodemailer';
import { messageOf } from '#errors';
import { inSpan } from '#observability';
import { ChannelAway, DeliveryChannel, DeliveryRefused, writeWhole } from '../deliveries/delivery.channel.js';
import type { Delivery } from '../deliveries/delivery.rules.js';
import { MAIL_CONFIG, type MailConfig } from '../mail.config.js';
import { TemplatesService } from '../templates/templates.service.js';
import { isMailAddress, linkOf, type MailContent, needsSmtpUtf8 } from './mail.rules.js';

/** A mail as it leaves. */
interface ComposedMail {
  readonly options: SendMailOptions;
  /** In angle brackets. The same for every attempt. */
  readonly messageId: string;
  readonly subject: string;
  readonly link: string;
}

/** Writes a mail from what is queued. Every attempt writes the same one, but for a template that was changed meanwhile. */
@Injectable()
export class MailComposer {
  constructor(
    private readonly templates: TemplatesService,
    @Inject(MAIL_CONFIG) private readonly config: Pick<MailConfig, 'baseUrl' | 'mailFrom'>,
  ) {}

  /** @throws DeliveryRefused where the recipient is no single address */
  async compose({ id, appId, recipient, content, createdAt }: Delivery): Promise<ComposedMail> {
    if (!isMailAddress(recipient)) throw new DeliveryRefused('the recipient is no mail address');
    // What `MailsService` has queued.
    const { kind, languages, username, applicationName, token, pageUrl } = content as unknown as MailContent;
    const { baseUrl, mailFrom } = this.config;
    const link = linkOf({ kind, token, pageUrl }, baseUrl);
    const variables = { appname: applicationName, email: recipient, username, link };
    const { subject, html, text, language } = await this.templates.render({ appId, kind, languages, variables });
    const messageId = `<${id}@${mailFrom.slice(mailFrom.lastIndexOf('@') + 1)}>`;
    const options: SendMailOptions = {
      // As objects: a text would be read as a list of addresses.
      from: { name: applicationName, address: mailFrom },
      to: { name: '', address: recipient },
      subject,
      html,
      text,
      messageId,
      date: createdAt,
      headers: { 'Auto-Submitted': 'auto-generated', 'Content-Language': language },
      disableFileAccess: true,
      disableUrlAccess: true,
    };
    return { options, messageId, subject, link };
  }
}

/** Writes each mail into a file instead of sending it, and shows its link to a developer. */
@Injectable()
export class FileChannel extends DeliveryChannel {
  readonly channel = 'mail';
  readonly #writer = createTransport({ streamTransport: true, buffer: true, newline: 'windows' });

  constructor(
    private readonly composer: MailComposer,
    @Inject(MAIL_CONFIG) private readonly config: Pick<MailConfig, 'mailFolder' | 'show'>,
  ) {
    super();
  }

  /** The file is named by the mail: whoever sends it again writes the same one. */
  async send(delivery: Delivery): Promise<void> {
    const { options, link, subject } = await this.composer.compose(delivery);
    const { message } = await this.#writer.sendMail(options);
    const file = join(this.config.mailFolder, `${delivery.id}.eml`);
    await writeWhole(file, message);
    this.config.show(`Mail to ${delivery.recipient}: ${link}\n  ${subject}\n  ${file}`);
  }
}

const NO_SMTPUTF8 = 'the server takes no address with such letters before the @ (SMTPUTF8)';

/** What nodemailer tells of a failure. */
interface NodemailerFailure {
  readonly code?: unknown;
  readonly command?: unknown;
  readonly responseCode?: unknown;
}

const CONNECTION_CODES = new Set<unknown>([
  'EAUTH',
  'ECONNECTION',
  'EDNS',
  'ENOAUTH',
  'EPROTOCOL',
  'ESOCKET',
  'ETIMEDOUT',
  'ETLS',
]);
/** The server wants us to log in, or does not like how we did: that is no fault of the mail. */
const LOGIN_ANSWERS = new Set<unknown>([530, 534, 535, 538]);
/** These answers are final, but for one that says that the session, not the mail, was out of order. */
const FINAL = /^5\d\d$/;
const BAD_SEQUENCE = 503;

interface FailedMail {
  readonly recipient: string;
  /** Whether the server had let us in and got the mail's first command. */
  readonly hasBegun: boolean;
}

/** A failure of nodemailer as the queue understands it. */
export function smtpFailure(thrown: unknown, failed: FailedMail): Error {
  const failure: NodemailerFailure = thrown ?? {};
  const message = messageOf(thrown);
  // It goes into the log, and servers repeat addresses in their answers.
  if (isServerAway(failure, failed)) return new ChannelAway(message.replaceAll(failed.recipient, 'the recipient'));
  if (!isFinal(failure)) return new Error(message, { cause: thrown });
  if (!needsSmtpUtf8(failed.recipient)) return new DeliveryRefused(message);
  return new DeliveryRefused(`${NO_SMTPUTF8}: ${message}`);
}

function isServerAway(
  { code, command, responseCode }: NodemailerFailure,
  { recipient, hasBegun }: FailedMail,
): boolean {
  if (!hasBegun && CONNECTION_CODES.has(code)) return true;
  if (LOGIN_ANSWERS.has(responseCode)) return true;
  // It does not take mails from our own address, so none at all; unless the recipient is what makes the command special.
  return command === 'MAIL FROM' && isFinal({ responseCode }) && !needsSmtpUtf8(recipient);
}

function isFinal({ code, command, responseCode }: NodemailerFailure): boolean {
  if (code === 'EENVELOPE' && command === 'API') return true;
  return typeof responseCode === 'number' && FINAL.test(String(responseCode)) && responseCode !== BAD_SEQUENCE;
}

const CONNECTION_TIMEOUT_MS = 10_000;
const GREETING_TIMEOUT_MS = 10_000;
const SOCKET_TIMEOUT_MS = 30_000;
/** A server that answers a little every few seconds would keep a connection for ever. */
const SEND_TIMEOUT_MS = 50_000;
/** A connection that broke while it was idle is made anew for the same mail; a server that closes every one is away. */
const MAX_REQUEUES = 1;

/** Sends mails over pooled connections to one SMTP server. */
@Injectable()
export class SmtpChannel extends DeliveryChannel implements OnApplicationShutdown {
  readonly channel = 'mail';
  override readonly parallel: number;
  readonly #transport;
  /** Message ids of mails whose sending has begun on an open connection. */
  readonly #begun = new Set<string>();
  /** Whether the server takes addresses with letters of all languages; unknown until it has taken a mail. */
  #takesUtf8: boolean | undefined;

  constructor(
    private readonly composer: MailComposer,
    smtp: NonNullable<MailConfig['smtp']>,
  ) {
    super();
    this.parallel = smtp.connections;
    this.#transport = createTransport({
      pool: true,
      url: smtp.url.reveal(),
      maxConnections: smtp.connections,
      maxRequeues: MAX_REQUEUES,
      connectionTimeout: CONNECTION_TIMEOUT_MS,
      greetingTimeout: GREETING_TIMEOUT_MS,
      socketTimeout: SOCKET_TIMEOUT_MS,
    });
    this.#noteBegun();
  }

  async send(delivery: Delivery): Promise<void> {
    if (this.#takesUtf8 === false && needsSmtpUtf8(delivery.recipient)) throw new DeliveryRefused(NO_SMTPUTF8);
    const { options, messageId } = await this.composer.compose(delivery);
    try {
      const { ehlo } = await inSpan({ name: 'SMTP send', kind: 'client' }, () =>
        this.#transport.sendMail({ ...options, signal: AbortSignal.timeout(SEND_TIMEOUT_MS) }),
      );
      this.#takesUtf8 = ehlo?.some((line) => /^SMTPUTF8\b/i.test(line));
    } catch (error) {
      throw smtpFailure(error, { recipient: delivery.recipient, hasBegun: this.#begun.has(messageId) });
    } finally {
      this.#begun.delete(messageId);
    }
  }

  onApplicationShutdown(): void {
    this.#transport.close();
  }

  /** The pool asks for a mail's bytes once a connection stands and the server has let us in. */
  #noteBegun(): void {
    this.#transport.use('stream', ({ data, message }, done) => {
      message.processFunc((stream) => {
        this.#begun.add(String(data.messageId));
        return stream;
      });
      done();
    });
  }
}
