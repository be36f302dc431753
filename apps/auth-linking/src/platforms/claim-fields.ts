import type { PlatformKind } from '#contracts';
import { appError } from '#errors';
import type { Claim } from './platform-verifier.types.js';
import { refusal } from './platform-errors.js';

const MAX_TOKEN_LENGTH = 2_048;
/** Tokens are visible ASCII. Nothing else gets into an address, a header or a form. */
const TOKEN = /^[\x21-\x7e]+$/;

/** The id that the entry names. @throws AppError IDENTITY_MISSING */
export function requireUid({ platform, uid }: Claim): string {
  if (uid === undefined || uid === '')
    throw appError('IDENTITY_MISSING', { message: `The account in authData.${platform} has no id.` });
  return uid;
}

/** A token or code of the entry. @throws AppError refusal where it is missing, is no string, or is none that a platform makes */
export function requireToken(kind: PlatformKind, claim: Claim, field: string, maxLength = MAX_TOKEN_LENGTH): string {
  const token = optionalToken(kind, claim, field, maxLength);
  if (token === undefined) throw refusal(kind, `${field} is missing`);
  return token;
}

/** The same where it may be missing: undefined, null, or empty. */
export function optionalToken(
  kind: PlatformKind,
  { entry }: Claim,
  field: string,
  maxLength = MAX_TOKEN_LENGTH,
): string | undefined {
  const token = Object.hasOwn(entry, field) ? entry[field] : undefined;
  if (token === undefined || token === null || token === '') return undefined;
  if (typeof token !== 'string') throw refusal(kind, `${field} must be a string`);
  if (token.length > maxLength || !TOKEN.test(token)) throw refusal(kind, `${field} is none of the platform's`);
  return token;
}
