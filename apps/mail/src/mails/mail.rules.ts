import type { MailKind, MailRequest } from '#contracts';

/** What a queued mail is written from: sealed while it waits. */
export interface MailContent {
  readonly kind: MailKind;
  readonly languages: readonly string[];
  readonly username: string;
  readonly applicationName: string;
  readonly token: string;
  readonly pageUrl: string | null;
}

/** The last change of a user's address that was heard of. */
export interface RecipientRow {
  /** Null where the user has none any more. */
  readonly email: string | null;
  readonly changedAt: Date;
}

/** Our own pages, below the base URL. */
const PAGES: Readonly<Record<MailKind, string>> = {
  verifyEmail: '/pages/verify-email',
  resetPassword: '/pages/reset-password',
};

const PART = String.raw`[^\s@<>(),;:"\\\[\]\p{Cc}\p{Cs}]`;
/** One address, without a name, a comment, or quotes: nothing in it can be read as a second one. */
const ADDRESS = new RegExp(`^${PART}{1,64}@${PART}{1,255}$`, 'u');

export function isMailAddress(text: string): boolean {
  return ADDRESS.test(text);
}

/** Whether an address can only be written with SMTPUTF8: what stands before the @ has no other form. */
export function needsSmtpUtf8(address: string): boolean {
  return /[^\0-\x7f]/.test(address.slice(0, address.lastIndexOf('@')));
}

interface LinkParts {
  readonly kind: MailKind;
  readonly token: string;
  /** The application's own page; ours where it is null. */
  readonly pageUrl: string | null;
}

/** What the reader follows. Nothing of a request stands in it. */
export function linkOf({ kind, token, pageUrl }: LinkParts, baseUrl: string): string {
  const page = pageUrl ?? `${baseUrl}${PAGES[kind]}`;
  return `${page}${page.includes('?') ? '&' : '?'}token=${token}`;
}

/** A request that took longer has waited for us, and others of its time with it. */
const LATE_MS = 5_000;
/** Long enough to read thousands of them. */
const CATCH_UP_SECONDS = 5;

/**
 * How long a mail waits that was asked for while nobody listened: behind the request may stand the news that its user has
 * another address by now.
 */
export function catchUpSeconds({ requestedAt }: Pick<MailRequest, 'requestedAt'>, now: Date): number {
  return now.getTime() - Date.parse(requestedAt) > LATE_MS ? CATCH_UP_SECONDS : 0;
}

/** Whether the user has had another address, or none, since the mail was asked for. */
export function isOutdated(
  { email, userUpdatedAt }: Pick<MailRequest, 'email' | 'userUpdatedAt'>,
  noted: RecipientRow | undefined,
): boolean {
  return noted !== undefined && noted.changedAt.getTime() > Date.parse(userUpdatedAt) && noted.email !== email;
}
