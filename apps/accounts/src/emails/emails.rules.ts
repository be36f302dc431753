import type { JsonObject, MailKind, MailLink } from '#contracts';
import { appError } from '#errors';
import { isAbsent } from '#objects';
import { parseEmail } from '../users/user-changes.rules.js';
import type { UserRow } from '../users/user.rules.js';

export type LinkState = Pick<MailLink, 'state' | 'canBeRenewed'>;
type Addressee = Pick<UserRow, 'email' | 'emailVerified' | 'emailVersion' | 'passwordVersion'>;

/** The members of a link's token that decide what the link does now. */
interface MailToken {
  readonly kind: MailKind;
  readonly emailVersion: number;
  readonly passwordVersion: number;
  readonly expiresAt: Date;
}

/** Whether the address to which the link was sent is still the user's, and was never another in between. */
export function isStillTheirs({ emailVersion }: MailToken, user: Addressee): boolean {
  return user.email !== null && emailVersion === user.emailVersion;
}

/**
 * What a genuine link does now. One that verifies dies at a change of the address, one that resets at a change of the
 * password too; both when their time is over (specification, States and transitions).
 */
export function stateOf(token: MailToken, user: Addressee, now: Date): LinkState {
  if (!isStillTheirs(token, user)) return { state: 'expired', canBeRenewed: false };
  if (token.kind === 'verifyEmail' && user.emailVerified === true) return { state: 'done', canBeRenewed: false };
  const isOutdated = token.kind === 'resetPassword' && token.passwordVersion !== user.passwordVersion;
  const isOpen = !isOutdated && now < token.expiresAt;
  return { state: isOpen ? 'open' : 'expired', canBeRenewed: !isOpen };
}

/**
 * The user after a reset by mail. It proves the address. Where the address was waiting for a proof, nobody knows who set the
 * account up: then whoever did keeps no other way in.
 */
export function proven(user: UserRow): UserRow {
  if (user.emailVerified !== false) return user;
  return { ...user, emailVerified: true, identities: null, mobilePhoneNumber: null, mobilePhoneVerified: false };
}

/** The address of a request. @throws AppError EMAIL_MISSING, INVALID_EMAIL */
export function requireEmail({ email }: JsonObject): string {
  if (isAbsent(email)) throw appError('EMAIL_MISSING');
  return parseEmail(email);
}
