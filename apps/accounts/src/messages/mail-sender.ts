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
import { MailAllowancesRepository } from './message-allowances.repository.js';

/** The columns of a user that a mail depends on. */
interface MailUser {
  readonly objectId: string;
  readonly username: string;
  readonly email: string | null;
  readonly emailVersion: number;
  readonly passwordVersion: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** The application's own page for a kind of link, where it has one. */
export function pageUrlOf(
  kind: MailKind,
  { verifyEmailPage, resetPasswordPage }: Pick<ApplicationSettings, 'verifyEmailPage' | 'resetPasswordPage'>,
): string | null {
  const url = kind === 'verifyEmail' ? verifyEmailPage : resetPasswordPage;
  return url === '' ? null : url;
}

/** The languages that somebody reads, and behind them that of the application. */
export function languagesOf(
  wanted: readonly string[],
  { mailLanguage }: Pick<ApplicationSettings, 'mailLanguage'>,
): string[] {
  return [...new Set([...wanted.slice(0, MAX_LANGUAGES - 1), mailLanguage])];
}

/** 128 bits cannot be guessed, and links stay shorter. */
const SIGNATURE_BYTES = 16;
const HEXADECIMAL = /^(?:[0-9a-f]{2})+$/;

const version = z.number().int().min(0);
/** Users are looked up by what is not proven yet: what the database could not even be asked for names nobody. */
const id = z.string().refine(isStorableText);
const content = z.tuple([z.enum(MAIL_KINDS), id, id, version, version, version]);

/** A token as somebody shows it: what it says is not proven yet. */
interface ShownToken {
  readonly token: MailToken;
  readonly text: string;
  readonly signature: Buffer;
}

/**
 * Makes the tokens of mailed links and recognises them. A token is signed, not stored; it consists of hexadecimal digits, since page
 * scripts of old look for word characters. What it is good for depends on the user whom it names.
 */
@Injectable()
export class MailTokens {
  constructor(private readonly sealer: Sealer) {}

  /** A token, sealed for the service that mails it (`sealedTokenContext`). */
  createSealed(token: MailToken, user: Pick<MailUser, 'createdAt'>): string {
    return this.sealer.seal(this.create(token, user), sealedTokenContext(token));
  }

  /** @returns undefined where it cannot be one of ours */
  read(shown: string): ShownToken | undefined {
    if (!HEXADECIMAL.test(shown)) return undefined;
    const bytes = Buffer.from(shown, 'hex');
    const text = bytes.subarray(SIGNATURE_BYTES).toString();
    const parsed = content.safeParse(jsonOf(text));
    if (!parsed.success) return undefined;
    const [kind, appId, userId, emailVersion, passwordVersion, expiresAt] = parsed.data;
    const token = { kind, appId, userId, emailVersion, passwordVersion, expiresAt: new Date(expiresAt) };
    return { token, text, signature: bytes.subarray(0, SIGNATURE_BYTES) };
  }

  /** Whether we made it for this user, and not for one before it that had the same id. */
  isGenuine({ text, signature }: ShownToken, user: Pick<MailUser, 'createdAt'>): boolean {
    return this.sealer.isHashOf(signedText(text, user), signature);
  }

  private create(token: MailToken, user: Pick<MailUser, 'createdAt'>): string {
    const { kind, appId, userId, emailVersion, passwordVersion, expiresAt } = token;
    const text = JSON.stringify([kind, appId, userId, emailVersion, passwordVersion, expiresAt.getTime()]);
    return Buffer.concat([this.sign(text, user), Buffer.from(text)]).toString('hex');
  }

  private sign(text: string, user: Pick<MailUser, 'createdAt'>): Buffer {
    return this.sealer.lookupHash(signedText(text, user)).subarray(0, SIGNATURE_BYTES);
  }
}

function signedText(text: string, { createdAt }: Pick<MailUser, 'createdAt'>): string {
  return JSON.stringify(['mail token', createdAt.getTime(), text]);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * What addresses have in common that lead to one mailbox, as far as that is the same everywhere: capitals do not count in
 * practice, what follows a + in front of the @ is a note of the mailbox's owner, and a domain in another script has a form in
 * ASCII as well.
 */
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

/** Whose request a mail comes from: its application, the languages that the person reads, and its id. */
export type MailOrigin = Pick<Caller, 'appId' | 'languages'> & Partial<Pick<Caller, 'requestId'>>;

type Addressee = MailUser & { readonly email: string };

/** Asks for mails with links: in the transaction that they follow from, by way of the outbox. */
@Injectable()
export class MailSender {
  constructor(
    private readonly allowances: MailAllowancesRepository,
    private readonly applications: ApplicationsService,
    private readonly tokens: MailTokens,
    private readonly outbox: Outbox,
    private readonly clock: Clock,
    @Inject(ACCOUNTS_CONFIG) private readonly config: AccountsConfig,
  ) {}

  /**
   * @param user as the transaction leaves it
   * @returns false where nothing is sent: there is no address, or its mailbox got too many mails
   */
  async send(tx: Tx, origin: MailOrigin, kind: MailKind, user: MailUser): Promise<boolean> {
    if (!hasAddress(user)) return false;
    if (!(await this.takeAllowance(tx, origin.appId, mailboxOf(user.email)))) return false;
    await this.outbox.add(tx, events.mailRequested, await this.request(tx, origin, kind, user), origin);
    return true;
  }

  /**
   * Does the work of a mail that nobody gets, so that the answer takes as long. It is counted apart: nobody shall use up the
   * mails of a mailbox by asking for others.
   */
  async pretend(tx: Tx, { appId }: MailOrigin, email: string): Promise<void> {
    await this.takeAllowance(tx, appId, `nobody ${mailboxOf(email)}`);
  }

  private async takeAllowance(tx: Tx, appId: string, recipient: string): Promise<boolean> {
    const now = this.clock.now();
    const outcome = await this.allowances.take(tx, { appId, recipient }, now);
    await this.allowances.removeExpired(tx, now);
    return outcome === 'taken';
  }

  private async request(
    tx: Tx,
    { appId, languages = [] }: MailOrigin,
    kind: MailKind,
    user: Addressee,
  ): Promise<MailRequest> {
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
      userUpdatedAt: user.updatedAt.toISOString(),
      requestedAt: now.toISOString(),
      expiresAt: expiresAt.toISOString(),
    };
  }
}

function hasAddress(user: MailUser): user is Addressee {
  return user.email !== null;
}

/** What the token of a link says. */
export interface MailToken {
  readonly kind: MailKind;
  readonly appId: string;
  readonly userId: string;
  /** How often address and password had been changed when it was made. */
  readonly emailVersion: number;
  readonly passwordVersion: number;
  readonly expiresAt: Date;
}
