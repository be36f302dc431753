import type { JsonValue } from '#contracts';
import { appError } from '#errors';
import { isStorableText } from '#object-values';

/** The fields by which a user logs in. */
export type LoginIdentifier = 'username' | 'email' | 'mobilePhoneNumber';

const MAX_USERNAME_LENGTH = 255;
/** RFC 5321: 64 before the @, 255 after it, 254 together. */
const MAX_EMAIL_LENGTH = 254;
const EMAIL = /^[^\s@<>(),;:"\\[\]]{1,64}@[^\s@<>(),;:"\\[\]]{1,190}\.[^\s@<>(),;:"\\[\].]{2,63}$/u;
const CONTROL_CHARACTERS = /\p{Cc}/u;
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

/** @throws AppError INVALID_EMAIL */
export function parseEmail(value: JsonValue): string {
  const isValid =
    typeof value === 'string' &&
    value.length <= MAX_EMAIL_LENGTH &&
    EMAIL.test(value) &&
    !CONTROL_CHARACTERS.test(value) &&
    isStorableText(value);
  if (!isValid) throw appError('INVALID_EMAIL');
  return value;
}

/** The number in international format. @throws AppError INVALID_PHONE */
export function parsePhoneNumber(value: JsonValue): string {
  if (typeof value === 'string' && INTERNATIONAL_PHONE.test(value)) return value;
  if (typeof value === 'string' && NATIONAL_PHONE.test(value)) return DEFAULT_PREFIX + value;
  throw appError('INVALID_PHONE');
}
