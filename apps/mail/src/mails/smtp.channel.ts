import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { createTransport } from 'nodemailer';
import { inSpan } from '#observability';
import { DeliveryChannel, DeliveryRefused } from '../deliveries/delivery.channel.js';
import type { Delivery } from '../deliveries/delivery.types.js';
import type { MailConfig } from '../mail.config.js';
import { MailComposer } from './mail-composer.js';
import { needsSmtpUtf8 } from './mail.rules.js';
import { NO_SMTPUTF8, smtpFailure } from './smtp-failure.js';

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
