import { Inject, Injectable } from '@nestjs/common';
import { z } from 'zod';
import { Clock } from '#bootstrap';
import {
  type ApplicationSettings,
  type Caller,
  events,
  MAIL_KINDS,
  type MailKind,
  type MailRequest,
  MAX_LANGUAGES,
  sealedTokenContext,
} from '#contracts';
import { Outbox, type Tx } from '#database';
import { isStorableText } from '#objects';
import { Sealer } from '#security';
import { ACCOUNTS_CONFIG, type AccountsConfig } from '../accounts.config.js';
import { ApplicationsService } from '../applications/applications.service.js';
import { type AllowanceRefusal, MessageAllowancesRepository } from './message-allowances.repository.js';

interface TokenUser {
  readonly createdAt: Date;
}

export interface MailToken {
  readonly kind: MailKind;
  readonly appId: string;
  readonly userId: string;
  readonly emailVersion: number;
  readonly passwordVersion: number;
  readonly expiresAt: Date;
}

/** 128 bits cannot be guessed and keep links short. */
const SIGNATURE_BYTES = 16;
const HEXADECIMAL = /^(?:[0-9a-f]{2})+$/;

const version = z.number().int().min(0);
/** The user is looked up before the signature is verified, so ids must be text that PostgreSQL accepts. */
const id = z.string().refine(isStorableText);
const content = z.tuple([z.enum(MAIL_KINDS), id, id, version, version, version]);

interface ReceivedToken {
  readonly token: MailToken;
  readonly text: string;
  readonly signature: Buffer;
}

/** Tokens of mailed links are signed, not stored. Hexadecimal digits, since older page scripts match word characters. */
@Injectable()
export class MailTokens {
  constructor(private readonly sealer: Sealer) {}

  createSealed(token: MailToken, user: TokenUser): string {
    return this.sealer.seal(this.#create(token, user), sealedTokenContext(token));
  }

  read(shown: string): ReceivedToken | undefined {
    if (!HEXADECIMAL.test(shown)) return undefined;
    const bytes = Buffer.from(shown, 'hex');
    const text = bytes.subarray(SIGNATURE_BYTES).toString();
    const parsed = content.safeParse(jsonOf(text));
    if (!parsed.success) return undefined;
    const [kind, appId, userId, emailVersion, passwordVersion, expiresAt] = parsed.data;
    const token = { kind, appId, userId, emailVersion, passwordVersion, expiresAt: new Date(expiresAt) };
    return { token, text, signature: bytes.subarray(0, SIGNATURE_BYTES) };
  }

  /** Whether this service created it for this user, not for an earlier user with the same id. */
  isGenuine({ text, signature }: ReceivedToken, user: TokenUser): boolean {
    return this.sealer.isHashOf(signedText(text, user), signature);
  }

  #create(token: MailToken, user: TokenUser): string {
    const { kind, appId, userId, emailVersion, passwordVersion, expiresAt } = token;
    const text = JSON.stringify([kind, appId, userId, emailVersion, passwordVersion, expiresAt.getTime()]);
    return Buffer.concat([this.#sign(text, user), Buffer.from(text)]).toString('hex');
  }

  #sign(text: string, user: TokenUser): Buffer {
    return this.sealer.lookupHash(signedText(text, user)).subarray(0, SIGNATURE_BYTES);
  }
}

interface MailUser {
  readonly objectId: string;
  readonly username: string;
  readonly email: string | null;
  readonly emailVersion: number;
  readonly passwordVersion: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** Marks the stored allowances of mails that are not sent. Stored rows have it, so it stays as it is. */
const DECOY_PREFIX = 'nobody ';

export type MailOrigin = Pick<Caller, 'appId' | 'languages'> & Partial<Pick<Caller, 'requestId'>>;

type Addressee = MailUser & { readonly email: string };

const DECOY_USER = {
  objectId: '0'.repeat(24),
  username: 'decoy',
  emailVersion: 0,
  passwordVersion: 0,
  createdAt: new Date(0),
  updatedAt: new Date(0),
};

@Injectable()
export class MailSender {
  constructor(
    private readonly allowances: MessageAllowancesRepository,
    private readonly applications: ApplicationsService,
    private readonly tokens: MailTokens,
    private readonly outbox: Outbox,
    private readonly clock: Clock,
    @Inject(ACCOUNTS_CONFIG) private readonly config: AccountsConfig,
  ) {}

  /** A user without an address gets no mail. @returns the refusal of a mailbox that has received too many mails */
  async send(tx: Tx, origin: MailOrigin, kind: MailKind, user: MailUser): Promise<AllowanceRefusal | undefined> {
    if (!hasAddress(user)) return undefined;
    const refusal = await this.#takeAllowance(tx, origin.appId, mailboxOf(user.email));
    if (refusal === undefined)
      await this.outbox.add(tx, events.mailRequested, await this.#request(tx, origin, kind, user), origin);
    return refusal;
  }

  /** The mail of a new address. The master key can set `emailVerified` also where the application verifies none: then there is no mail. */
  async sendVerification(tx: Tx, origin: MailOrigin, user: MailUser): Promise<void> {
    const { settings } = await this.applications.profileWithin(tx, origin.appId);
    if (settings.verifyEmailOnSignUp) await this.send(tx, origin, 'verifyEmail', user);
  }

  /** Takes as long as `send`, from an allowance of its own: that of the mailbox stays. @returns the refusal of too many such requests */
  async sendDecoy(tx: Tx, origin: MailOrigin, kind: MailKind, email: string): Promise<AllowanceRefusal | undefined> {
    const refusal = await this.#takeAllowance(tx, origin.appId, `${DECOY_PREFIX}${mailboxOf(email)}`);
    if (refusal !== undefined) return refusal;
    const request = await this.#request(tx, origin, kind, { ...DECOY_USER, email });
    await this.outbox.addDecoy(tx, events.mailRequested, request, origin);
    return undefined;
  }

  async #takeAllowance(tx: Tx, appId: string, recipient: string): Promise<AllowanceRefusal | undefined> {
    const now = this.clock.now();
    const refusal = await this.allowances.take(tx, { kind: 'mail', appId, recipient }, now);
    await this.allowances.removeExpired(tx, 'mail', now);
    return refusal;
  }

  async #request(tx: Tx, { appId, languages = [] }: MailOrigin, kind: MailKind, user: Addressee): Promise<MailRequest> {
    const { objectId: userId, email, emailVersion, passwordVersion, username } = user;
    const { name, settings } = await this.applications.profileWithin(tx, appId);
    const now = this.clock.now();
    const expiresAt = new Date(now.getTime() + this.config.linkLifetimesMs[kind]);
    return {
      appId,
      userId,
      kind,
      email,
      username,
      applicationName: name,
      sealedToken: this.tokens.createSealed({ kind, appId, userId, emailVersion, passwordVersion, expiresAt }, user),
      pageUrl: pageUrlOf(kind, settings),
      languages: languagesOf(languages, settings),
      userUpdatedAt: knownSince(user, now).toISOString(),
      requestedAt: now.toISOString(),
      expiresAt: expiresAt.toISOString(),
    };
  }
}

function hasAddress(user: MailUser): user is Addressee {
  return user.email !== null;
}

/** The clocks of two processes differ by less. */
const CLOCK_DIFFERENCE_MS = 5_000;

/** Later than each earlier change of the address and each deletion: an import brings a deleted user back with an old `updatedAt`. */
function knownSince({ updatedAt }: Pick<MailUser, 'updatedAt'>, now: Date): Date {
  return new Date(Math.max(updatedAt.getTime(), now.getTime() - CLOCK_DIFFERENCE_MS));
}

export function pageUrlOf(
  kind: MailKind,
  { verifyEmailPage, resetPasswordPage }: Pick<ApplicationSettings, 'verifyEmailPage' | 'resetPasswordPage'>,
): string | null {
  const url = kind === 'verifyEmail' ? verifyEmailPage : resetPasswordPage;
  return url === '' ? null : url;
}

export function languagesOf(
  wanted: readonly string[],
  { mailLanguage }: Pick<ApplicationSettings, 'mailLanguage'>,
): string[] {
  return [...new Set([...wanted.slice(0, MAX_LANGUAGES - 1), mailLanguage])];
}

/** By rules of all providers: case does not count, a part after + before the @ is a tag, an internationalized domain has an ASCII form. */
export function mailboxOf(email: string): string {
  const [local = '', domain = ''] = email
    .normalize('NFKC')
    .toLowerCase()
    .split(/@(?=[^@]*$)/);
  const [name = ''] = local.split('+', 1);
  return `${name === '' ? local : name}@${asciiOf(domain)}`;
}

function asciiOf(domain: string): string {
  const url = `http://${domain}`;
  return URL.canParse(url) ? new URL(url).hostname : domain;
}

function signedText(text: string, { createdAt }: TokenUser): string {
  return JSON.stringify(['mail token', createdAt.getTime(), text]);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
