import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { domainToASCII } from 'node:url';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { createTransport, type SendMailOptions } from 'nodemailer';
import { messageOf } from '#errors';
import { inSpan } from '#observability';
import {
  ChannelUnavailable,
  DeliveryChannel,
  DeliveryRefused,
  writeFileAtomically,
} from '../deliveries/delivery.channel.js';
import type { Delivery } from '../deliveries/delivery.rules.js';
import { MAIL_CONFIG, type MailConfig } from '../mail.config.js';
import { INVITATION_TEMPLATES } from '../templates/built-in-templates.js';
import { CompiledTemplate } from '../templates/compiled-template.js';
import type { RenderedMail } from '../templates/template.rules.js';
import { TemplatesService } from '../templates/templates.service.js';
import {
  INVITATION,
  type InvitationContent,
  isMailAddress,
  linkOf,
  type MailContent,
  needsSmtpUtf8,
} from './mail.rules.js';

interface Letter extends RenderedMail {
  readonly from: string;
  readonly link: string;
}

interface ComposedMail {
  readonly options: SendMailOptions;
  /** In angle brackets, the same for every attempt. */
  readonly messageId: string;
  readonly subject: string;
  readonly link: string;
}

/** Builds a mail from a delivery. Every attempt builds the same mail, unless its template was changed in between. */
@Injectable()
export class MailComposer {
  constructor(
    private readonly templates: TemplatesService,
    @Inject(MAIL_CONFIG) private readonly config: Pick<MailConfig, 'baseUrl' | 'mailFrom'>,
  ) {}

  /** @throws DeliveryRefused if the recipient is not a single address */
  async compose(delivery: Delivery): Promise<ComposedMail> {
    const { id, recipient, createdAt } = delivery;
    if (!isMailAddress(recipient)) throw new DeliveryRefused('the recipient is not a valid email address');
    const { mailFrom } = this.config;
    const letter = delivery.kind === INVITATION ? invitationOf(delivery) : await this.#letterOf(delivery);
    const { from, link, subject, html, text, language } = letter;
    // Nodemailer encodes addresses, but no Message-ID.
    const domain = mailFrom.slice(mailFrom.lastIndexOf('@') + 1);
    const messageId = `<${id}@${domainToASCII(domain) || domain}>`;
    const options: SendMailOptions = {
      // Objects, because nodemailer parses a string as a list of addresses.
      from: { name: from, address: mailFrom },
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

  async #letterOf({ appId, recipient, content }: Delivery): Promise<Letter> {
    const { kind, languages, username, applicationName, token, pageUrl, template } = content as unknown as MailContent;
    const link = linkOf({ kind, token, pageUrl }, this.config.baseUrl);
    const variables = { appname: applicationName, email: recipient, username, link };
    const rendered =
      template === undefined
        ? await this.templates.render({ appId, kind, languages, variables })
        : { ...CompiledTemplate.compile(template).render(variables), language: template.language };
    return { ...rendered, from: applicationName, link };
  }
}

/** Applications cannot change the text of an invitation. */
function invitationOf({ recipient, content }: Delivery): Letter {
  const { language, invitedBy, link } = content as unknown as InvitationContent;
  const variables = { appname: PRODUCT, email: recipient, username: invitedBy, link };
  const rendered = CompiledTemplate.compile(INVITATION_TEMPLATES[language]).render(variables);
  return { ...rendered, language, from: PRODUCT, link };
}

const PRODUCT = 'Gatepost';

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

  /** The file has the name of the delivery's id, so a repeated send overwrites it. */
  async send(delivery: Delivery): Promise<void> {
    const { options, link, subject } = await this.composer.compose(delivery);
    const { message } = await this.#writer.sendMail(options);
    const file = join(this.config.mailFolder, `${delivery.id}.eml`);
    await writeFileAtomically(file, message);
    this.config.show(`Mail to ${delivery.recipient}: ${link}\n  ${subject}\n  ${file}`);
  }
}

/** From the look-up to STARTTLS. A server whose DNS does not respond looks up our name for 20 s before it greets. */
const SETUP_TIMEOUT_MS = 30_000;
const IDLE_TIMEOUT_MS = 30_000;

interface SmtpLimits {
  readonly transferMs: number;
  /** From the last byte to the answer: a busy server that answers later stores copy after copy (RFC 5321, 4.5.3.2.6). */
  readonly answerMs: number;
}

const SMTP_LIMITS: SmtpLimits = { transferMs: 50_000, answerMs: 600_000 };
/** A mail whose idle connection broke is sent over a new one, once: a server that closes each connection is unavailable. */
const MAX_REQUEUES = 1;

@Injectable()
export class SmtpChannel extends DeliveryChannel implements OnApplicationShutdown {
  readonly channel = 'mail';
  override readonly parallel: number;
  readonly #transport;
  readonly #sends = new Map<string, SmtpSend>();
  /** Whether the server supports SMTPUTF8; unknown until it has accepted a mail. */
  #takesUtf8: boolean | undefined;

  constructor(
    private readonly composer: MailComposer,
    smtp: NonNullable<MailConfig['smtp']>,
    private readonly limits = SMTP_LIMITS,
  ) {
    super();
    this.parallel = smtp.connections;
    this.#transport = createTransport({
      pool: true,
      url: smtp.url.reveal(),
      maxConnections: smtp.connections,
      maxRequeues: MAX_REQUEUES,
      connectionTimeout: SETUP_TIMEOUT_MS,
      greetingTimeout: SETUP_TIMEOUT_MS,
      socketTimeout: limits.answerMs,
      idleTimeout: IDLE_TIMEOUT_MS,
    });
    this.#trackTransfers();
  }

  async send(delivery: Delivery): Promise<void> {
    if (this.#takesUtf8 === false && needsSmtpUtf8(delivery.recipient)) throw new DeliveryRefused(NO_SMTPUTF8);
    const { options, messageId } = await this.composer.compose(delivery);
    const send = new SmtpSend(this.limits);
    const { signal } = send.abort;
    this.#sends.set(messageId, send);
    try {
      const { ehlo } = await inSpan({ name: 'SMTP send', kind: 'client' }, () =>
        this.#transport.sendMail({ ...options, signal }),
      );
      this.#takesUtf8 = ehlo?.some((line) => /^SMTPUTF8\b/i.test(line));
    } catch (error) {
      const thrown: unknown = signal.aborted ? signal.reason : error;
      throw smtpFailure(thrown, { recipient: delivery.recipient, hasBegun: send.hasBegun });
    } finally {
      send.end();
      this.#sends.delete(messageId);
    }
  }

  onApplicationShutdown(): void {
    this.#transport.close();
  }

  /** The pool reads the bytes of a mail after the connection and the login have succeeded. */
  #trackTransfers(): void {
    this.#transport.use('stream', ({ data, message }, done) => {
      message.processFunc((stream) => {
        this.#sends.get(String(data.messageId))?.begin(stream);
        return stream;
      });
      done();
    });
  }
}

class SmtpSend {
  hasBegun = false;
  readonly abort = new AbortController();
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly limits: SmtpLimits) {
    this.#limit(limits.transferMs);
  }

  begin(bytes: Readable): void {
    this.hasBegun = true;
    bytes.once('end', () => {
      this.#limit(this.limits.answerMs);
    });
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  #limit(timeoutMs: number): void {
    clearTimeout(this.#timer);
    const reason = Object.assign(new Error(`no answer within ${timeoutMs} ms`), { code: 'ETIMEDOUT' });
    this.#timer = setTimeout(() => {
      this.abort.abort(reason);
    }, timeoutMs);
  }
}

const NO_SMTPUTF8 =
  'the SMTP server does not support SMTPUTF8, which this address needs because of letters before the @';

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
/** The server requires a login or rejects ours. After the sender was accepted, it does so for this recipient alone. */
const LOGIN_REPLIES = new Set<unknown>([530, 534, 535, 538]);
const COMMANDS_OF_ONE_MAIL = new Set<unknown>(['RCPT TO', 'DATA']);
/** RFC 1870. */
const TOO_LONG = 552;
/** A reply may have 1 MiB, and the search for addresses in it takes quadratic time. */
const MAX_REPLY_LENGTH = 1_000;
const ADDRESS = /[^\s<>"'(),;:]+@[^\s<>"'(),;:]+/g;
/** Permanent failures, except the one that concerns the session instead of the mail. */
const FINAL = /^5\d\d$/;
const BAD_SEQUENCE = 503;

interface FailedMail {
  readonly recipient: string;
  /** Whether the login had succeeded and the transfer of the mail had begun. */
  readonly hasBegun: boolean;
}

export function smtpFailure(thrown: unknown, failed: FailedMail): Error {
  const failure: NodemailerFailure = thrown ?? {};
  const reply = messageOf(thrown);
  const message = reply.length > MAX_REPLY_LENGTH ? reply.slice(0, MAX_REPLY_LENGTH).replace(/\S*$/, '…') : reply;
  // This message is logged, and servers repeat addresses in their replies, also in another spelling.
  if (isServerUnavailable(failure, failed))
    return new ChannelUnavailable(withRemedy(message).replaceAll(ADDRESS, 'an address'));
  if (!isFinal(failure) || LOGIN_REPLIES.has(failure.responseCode)) return new Error(message, { cause: thrown });
  if (!needsSmtpUtf8(failed.recipient)) return new DeliveryRefused(message);
  return new DeliveryRefused(`${NO_SMTPUTF8}: ${message}`);
}

function withRemedy(message: string): string {
  if (message.includes('wrong version number'))
    return 'The server does not begin with TLS on this port. Begin SMTP_URL with smtp://, or change its port.';
  if (!message.startsWith('Greeting never received')) return message;
  return `${message}. If the server begins with TLS on this port, begin SMTP_URL with smtps://.`;
}

function isServerUnavailable(
  { code, command, responseCode }: NodemailerFailure,
  { recipient, hasBegun }: FailedMail,
): boolean {
  if (!hasBegun && CONNECTION_CODES.has(code)) return true;
  if (LOGIN_REPLIES.has(responseCode)) return !COMMANDS_OF_ONE_MAIL.has(command);
  if (responseCode === TOO_LONG) return false;
  // The server rejects our sender, so it rejects all mails, unless the recipient adds SMTPUTF8 to the command.
  return command === 'MAIL FROM' && isFinal({ responseCode }) && !needsSmtpUtf8(recipient);
}

function isFinal({ code, command, responseCode }: NodemailerFailure): boolean {
  if (code === 'EENVELOPE' && command === 'API') return true;
  return typeof responseCode === 'number' && FINAL.test(String(responseCode)) && responseCode !== BAD_SEQUENCE;
}
