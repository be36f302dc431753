import type { MailKind, MailRequest } from '#contracts';
import type { RecipientRow } from '../deliveries/delivery.rules.js';
import type { MailTemplate } from '../templates/template.rules.js';

export interface MailContent {
  readonly kind: MailKind;
  readonly languages: readonly string[];
  readonly username: string;
  readonly applicationName: string;
  readonly token: string;
  readonly pageUrl: string | null;
  /** The template of a test mail, which may be stored nowhere. Absent: that of the application. */
  readonly template?: MailTemplate & { readonly language: string };
}

export interface InvitationContent {
  readonly language: 'en' | 'zh';
  readonly invitedBy: string;
  readonly link: string;
}

export const INVITATION = 'invitation';

const PAGES: Readonly<Record<MailKind, string>> = {
  verifyEmail: '/pages/verify-email',
  resetPassword: '/pages/reset-password',
};

const PART = String.raw`[^\s@<>(),;:"\\\[\]\p{Cc}\p{Cs}]`;
/** One address without a name, a comment, or quotes, so that no parser reads a second address in it. */
const ADDRESS = new RegExp(`^${PART}{1,64}@${PART}{1,255}$`, 'u');

export function isMailAddress(text: string): boolean {
  return ADDRESS.test(text);
}

/** Whether the local part needs SMTPUTF8; a domain has an ASCII form. */
export function needsSmtpUtf8(address: string): boolean {
  return /[^\0-\x7f]/.test(address.slice(0, address.lastIndexOf('@')));
}

interface LinkParts {
  readonly kind: MailKind;
  readonly token: string;
  readonly pageUrl: string | null;
}

/** The link of the mail. It contains nothing that a client has sent. */
export function linkOf({ kind, token, pageUrl }: LinkParts, baseUrl: string): string {
  const page = pageUrl ?? `${baseUrl}${PAGES[kind]}`;
  return `${page}${page.includes('?') ? '&' : '?'}token=${token}`;
}

/** An older request has waited in the broker, together with other events of that time. */
const LATE_MS = 5_000;
/** Long enough to process thousands of waiting events. */
const CATCH_UP_SECONDS = 5;

/** For a mail requested while the service was down: a later event in the queue may say that the user has another address. */
export function catchUpSeconds({ requestedAt }: Pick<MailRequest, 'requestedAt'>, now: Date): number {
  return now.getTime() - Date.parse(requestedAt) > LATE_MS ? CATCH_UP_SECONDS : 0;
}

export function isOutdated(
  { email, userUpdatedAt }: Pick<MailRequest, 'email' | 'userUpdatedAt'>,
  lastChange: RecipientRow | undefined,
): boolean {
  return (
    lastChange !== undefined && lastChange.changedAt.getTime() > Date.parse(userUpdatedAt) && lastChange.email !== email
  );
}
