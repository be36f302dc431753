import type { JsonValue } from '#contracts';
import { appError } from '#errors';
import { isStorableText } from '#objects';

/** The fields by which a user logs in. */
export type LoginIdentifier = 'username' | 'email' | 'mobilePhoneNumber';

const MAX_USERNAME_LENGTH = 255;
/** RFC 5321: 64 before the @, 255 after it, 254 together. */
const MAX_EMAIL_LENGTH = 254;
const LOCAL_PART = String.raw`[^\s@<>(),;:"\\[\]]{1,64}`;
/** A part of a domain's name, in any script. */
const LABEL = String.raw`[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}-]{0,61}[\p{L}\p{N}\p{M}])?`;
/** The last label holds a letter, so that nobody makes us mail to the number of a machine. */
const EMAIL = new RegExp(`^${LOCAL_PART}@(?:${LABEL}\\.){1,10}(?=[^.]*\\p{L})(?=.{2,63}$)${LABEL}$`, 'u');
/** What steers terminals, lines and directions of writing is part of no address. */
const INVISIBLE_CHARACTERS = /[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}]/u;
const INTERNATIONAL_PHONE = /^\+[1-9]\d{5,14}$/;
const NATIONAL_PHONE = /^\d{6,13}$/;
/** Numbers without a prefix are Chinese: the service that this API comes from takes them so. */
const DEFAULT_PREFIX = '+86';

/** @throws AppError INVALID_USERNAME */
export function parseUsername(value: JsonValue): string {
  const isValid =
    typeof value === 'string' && value.trim() !== '' && value.length <= MAX_USERNAME_LENGTH && isStorableText(value);
  if (!isValid) throw appError('INVALID_USERNAME');
  return value;
}

/** One address, as it is sent (RFC 5321, RFC 6531). @throws AppError INVALID_EMAIL */
export function parseEmail(value: JsonValue): string {
  if (typeof value !== 'string' || !isEmail(value)) throw appError('INVALID_EMAIL');
  return value;
}

/** Mail servers may bring an address into its plain form, where a wide comma is a comma: that must be one address as well. */
function isEmail(text: string): boolean {
  return text.length <= MAX_EMAIL_LENGTH && isStorableText(text) && [text, text.normalize('NFKC')].every(isPlainEmail);
}

function isPlainEmail(text: string): boolean {
  return text.length <= MAX_EMAIL_LENGTH && !INVISIBLE_CHARACTERS.test(text) && EMAIL.test(text);
}

/** The number in international format. @throws AppError INVALID_PHONE */
export function parsePhoneNumber(value: JsonValue): string {
  if (typeof value === 'string' && INTERNATIONAL_PHONE.test(value)) return value;
  if (typeof value === 'string' && NATIONAL_PHONE.test(value)) return DEFAULT_PREFIX + value;
  throw appError('INVALID_PHONE');
}
