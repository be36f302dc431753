import { writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { SMTPServer, type SMTPServerAuthentication, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server';
import { afterAll, beforeAll } from 'vitest';
import { freePorts } from './gatepost-server.js';
import { goesTo, parseMail, type ReceivedMail } from './received-mail.js';
import { type Certificate, selfSignedCertificate } from './self-signed-certificate.js';
import { newFolder } from './test-run.js';

const HOST = '127.0.0.1';

export interface SmtpSinkOptions {
  /** How connections are encrypted: from the start, on request, or never. */
  readonly tls?: 'implicit' | 'starttls' | 'none';
  /** The credentials that may send; without them every client may. */
  readonly account?: { readonly user: string; readonly password: string };
}

/** The reaction of the server to a complete mail: it stores it, and does not answer (`mute`) or breaks the connection (`drop`). */
export type SmtpFault = 'mute' | 'drop';

/** A mail that was kept: its envelope and what was sent. */
export interface KeptMail {
  readonly to: readonly string[];
  readonly raw: Buffer;
}

/** A real SMTP server on a port of its own that keeps what it accepts, and misbehaves on request. */
export class SmtpSink {
  /** In the order of their coming. */
  readonly kept: KeptMail[] = [];
  readonly #parsed = new Map<KeptMail, Promise<ReceivedMail>>();
  readonly #sockets = new Set<Socket>();
  readonly #refusals = new Map<string, number>();
  readonly #certificate: Certificate | undefined;
  #server: SMTPServer | undefined;
  #delayMs = 0;
  #fault: SmtpFault | undefined;

  private constructor(
    readonly port: number,
    private readonly options: SmtpSinkOptions,
  ) {
    this.#certificate = (options.tls ?? 'none') === 'none' ? undefined : selfSignedCertificate();
  }

  static async start(options: SmtpSinkOptions = {}): Promise<SmtpSink> {
    const sink = new SmtpSink(await freePorts(1), options);
    await sink.goUp();
    return sink;
  }

  /** Leads a Gatepost to this server, whose certificate it shall trust. */
  env(): Record<string, string> {
    const urls = { SMTP_URL: this.url, GATEPOST_MAIL_FROM: 'no-reply@gatepost.test' };
    if (this.#certificate === undefined) return urls;
    const file = join(newFolder('smtp'), 'certificate.pem');
    writeFileSync(file, this.#certificate.cert);
    return { ...urls, NODE_EXTRA_CA_CERTS: file };
  }

  get url(): string {
    const { tls, account } = this.options;
    const login = account === undefined ? '' : `${account.user}:${account.password}@`;
    return `${tls === 'implicit' ? 'smtps' : 'smtp'}://${login}${HOST}:${this.port}`;
  }

  /** The mails accepted for an address so far. */
  async mailsTo(address: string): Promise<ReceivedMail[]> {
    return this.#parse(this.kept.filter((mail) => goesTo(mail, address)));
  }

  async allMails(): Promise<ReceivedMail[]> {
    return this.#parse(this.kept);
  }

  /** The port is closed, and what is open breaks. */
  async goDown(): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      if (this.#server === undefined) resolve();
      else this.#server.close(resolve);
    });
    this.#server = undefined;
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  /** Listens, at the same port as before; does nothing where it does already. */
  async goUp(): Promise<void> {
    if (this.#server !== undefined) return;
    const server = new SMTPServer(this.#serverOptions());
    // Clients that break a connection, or do not trust us, are no failure of ours.
    server.on('error', () => undefined);
    server.server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    await new Promise<void>((resolve, reject) => {
      server.server.once('error', reject);
      server.listen(this.port, HOST, resolve);
    });
    this.#server = server;
  }

  /** From now on the answer to each mail takes so long, until `mend`. */
  slowDown(delayMs: number): void {
    this.#delayMs = delayMs;
  }

  /** From now on the server refuses to send to the address, with a code such as 550 or 450, until `mend`. */
  refuse(address: string, code: number): void {
    this.#refusals.set(address, code);
  }

  /** From now on the server misbehaves, until `mend`. */
  break(fault: SmtpFault): void {
    this.#fault = fault;
  }

  mend(): void {
    this.#delayMs = 0;
    this.#fault = undefined;
    this.#refusals.clear();
  }

  #serverOptions(): SMTPServerOptions {
    const { tls = 'none', account } = this.options;
    return {
      ...this.#certificate,
      secure: tls === 'implicit',
      disabledCommands: [...(tls === 'none' ? ['STARTTLS'] : []), ...(account === undefined ? ['AUTH'] : [])],
      allowInsecureAuth: tls === 'none',
      disableReverseLookup: true,
      onAuth: ({ username, password }: SMTPServerAuthentication, _session, done) => {
        const isRight = username === account?.user && password === account?.password;
        done(isRight ? null : new Error('wrong user or password'), { user: username });
      },
      onRcptTo: ({ address }, _session, done) => {
        const responseCode = this.#refusals.get(address);
        done(responseCode === undefined ? null : Object.assign(new Error('refused by the test'), { responseCode }));
      },
      onData: (stream, session, done) => {
        stream
          .toArray()
          .then((chunks: Buffer[]) => this.#receive(session, Buffer.concat(chunks), done))
          // The client has gone away in the middle of its mail.
          .catch(() => undefined);
      },
    };
  }

  async #receive(session: SMTPServerSession, raw: Buffer, accept: () => void): Promise<void> {
    await setTimeout(this.#delayMs);
    this.kept.push({ to: session.envelope.rcptTo.map(({ address }) => address), raw });
    if (this.#fault === 'drop') this.#drop(session);
    else if (this.#fault === undefined) accept();
  }

  #drop({ remotePort }: SMTPServerSession): void {
    for (const socket of this.#sockets) if (socket.remotePort === remotePort) socket.destroy();
  }

  #parse(mails: readonly KeptMail[]): Promise<ReceivedMail[]> {
    return Promise.all(
      mails.map((mail) => {
        const parsed = this.#parsed.get(mail) ?? parseMail(mail.raw);
        this.#parsed.set(mail, parsed);
        return parsed;
      }),
    );
  }
}

/** Starts an SMTP server before the tests of a suite, and stops it after them. */
export function useSmtpSink(options: SmtpSinkOptions = {}): () => SmtpSink {
  let sink: SmtpSink | undefined;
  beforeAll(async () => {
    sink = await SmtpSink.start(options);
  });
  afterAll(() => sink?.goDown());
  return () => {
    if (sink === undefined) throw new Error('the SMTP server is there once the tests run');
    return sink;
  };
}
