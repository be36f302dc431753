import type { ApplicationSettings, JsonObject } from '#contracts';
import { appError, type ErrorName } from '#errors';
import { isAbsent } from '#objects';
import { type LoginIdentifier, parsePhoneNumber } from '../users/user-identifier.rules.js';
import type { UserRow } from '../users/user.row.js';

export interface Credentials {
  readonly identifier: LoginIdentifier;
  readonly value: string;
  readonly password: string;
}

/** SDKs send whole user objects: username wins over email over mobilePhoneNumber (decisions, identifier at login). */
const IDENTIFIERS: readonly LoginIdentifier[] = ['username', 'email', 'mobilePhoneNumber'];

const INVALID_IDENTIFIERS: Readonly<Record<LoginIdentifier, ErrorName>> = {
  username: 'INVALID_USERNAME',
  email: 'INVALID_EMAIL',
  mobilePhoneNumber: 'INVALID_PHONE',
};

/** Reads the body of a login. @throws AppError with the code of what is missing or of a wrong type */
export function parseCredentials(body: JsonObject): Credentials {
  const identifier = IDENTIFIERS.find((name) => !isAbsent(body[name]));
  if (identifier === undefined) throw appError('USERNAME_MISSING');
  const value = parseIdentifier(identifier, body[identifier]);
  const password = body['password'];
  if (isAbsent(password)) throw appError('PASSWORD_MISSING');
  if (typeof password !== 'string') throw appError('INVALID_PASSWORD');
  return { identifier, value, password };
}

/** Whether a code is shown instead of a password. SDKs send whole user objects: with both, the password counts. */
export function isLoginByCode({ password, smsCode }: JsonObject): boolean {
  return isAbsent(password) && !isAbsent(smsCode);
}

/** @throws AppError EMAIL_UNVERIFIED or PHONE_UNVERIFIED where a setting keeps such users out */
export function assertMayLogIn(user: UserRow, settings: ApplicationSettings): void {
  if (settings.forbidUnverifiedEmailLogin && user.emailVerified === false) throw appError('EMAIL_UNVERIFIED');
  if (settings.forbidUnverifiedPhoneLogin && user.mobilePhoneNumber !== null && !user.mobilePhoneVerified) {
    throw appError('PHONE_UNVERIFIED');
  }
}

function parseIdentifier(identifier: LoginIdentifier, value: JsonObject[string] | undefined): string {
  if (typeof value !== 'string') throw appError(INVALID_IDENTIFIERS[identifier]);
  return identifier === 'mobilePhoneNumber' ? parsePhoneNumber(value) : value;
}
