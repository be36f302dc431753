import type { JsonObject, MailKind, MailLink } from '#contracts';
import { appError } from '#errors';
import { isAbsent, parseEmail } from '#objects';
import type { UserRow } from '../users/user.rules.js';

export type LinkState = Pick<MailLink, 'state' | 'canBeRenewed'>;
type Addressee = Pick<UserRow, 'email' | 'emailVerified' | 'emailVersion' | 'passwordVersion'>;

/** The members of a link's token that decide what the link does now. */
interface LinkToken {
  readonly kind: MailKind;
  readonly emailVersion: number;
  readonly passwordVersion: number;
  readonly expiresAt: Date;
}

/** Whether the user has kept the address to which the link was sent. */
export function isAddressUnchanged({ emailVersion }: LinkToken, user: Addressee): boolean {
  return user.email !== null && emailVersion === user.emailVersion;
}

/**
 * The current state of a genuine link. A change of the address ends verification links; a change of the address or the password
 * ends reset links; both expire (specification, States and transitions).
 */
export function stateOf(token: LinkToken, user: Addressee, now: Date): LinkState {
  if (!isAddressUnchanged(token, user)) return { state: 'expired', canBeRenewed: false };
  if (token.kind === 'verifyEmail' && user.emailVerified === true) return { state: 'done', canBeRenewed: false };
  const isOutdated = token.kind === 'resetPassword' && token.passwordVersion !== user.passwordVersion;
  const isOpen = !isOutdated && now < token.expiresAt;
  return { state: isOpen ? 'open' : 'expired', canBeRenewed: !isOpen };
}

/**
 * The user after a password reset by mail, which proves the address. If the address was unverified, another person may have
 * created the account: all other credentials are removed.
 */
export function withProvenAddress(user: UserRow): UserRow {
  if (user.emailVerified !== false) return user;
  return { ...user, emailVerified: true, identities: null, mobilePhoneNumber: null, mobilePhoneVerified: false };
}

/** @throws AppError EMAIL_MISSING, INVALID_EMAIL */
export function requireEmail({ email }: JsonObject): string {
  if (isAbsent(email)) throw appError('EMAIL_MISSING');
  return parseEmail(email);
}
