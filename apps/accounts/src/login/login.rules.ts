import type { JsonObject } from '#contracts';
import { appError, type ErrorName } from '#errors';
import { isAbsent, type LoginIdentifier, parsePhoneNumber } from '#objects';

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

/** Parses the body of a login. @throws AppError with the code of the missing or mistyped member */
export function parseCredentials(body: JsonObject): Credentials {
  const identifier = IDENTIFIERS.find((name) => !isAbsent(body[name]));
  if (identifier === undefined) throw appError('USERNAME_MISSING');
  const value = parseIdentifier(identifier, body[identifier]);
  const password = body['password'];
  if (isAbsent(password)) throw appError('PASSWORD_MISSING');
  if (typeof password !== 'string') throw appError('INVALID_PASSWORD');
  return { identifier, value, password };
}

/** Whether the login is by code instead of password. SDKs send whole user objects: with both, the password counts. */
export function isLoginByCode({ password, smsCode }: JsonObject): boolean {
  return isAbsent(password) && !isAbsent(smsCode);
}

function parseIdentifier(identifier: LoginIdentifier, value: JsonObject[string] | undefined): string {
  if (typeof value !== 'string') throw appError(INVALID_IDENTIFIERS[identifier]);
  return identifier === 'mobilePhoneNumber' ? parsePhoneNumber(value) : value;
}
