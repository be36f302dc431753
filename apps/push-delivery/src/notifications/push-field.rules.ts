import type { JsonValue } from '#contracts';
import { type AppError, appError } from '#errors';
import { isJsonObject, isStorableText } from '#objects';

const SHORT_NAME = /^[A-Za-z0-9]{1,16}$/;

/** Whether a request leaves a member out: SDKs send `null` for it too. A blank text is a value, and mostly a wrong one. */
export function isLeftOut(value: JsonValue | undefined): value is undefined | null {
  return value === undefined || value === null;
}

/** The refusal of a member of a push that is not what it should be. */
export function incorrect(message: string): AppError {
  return appError('INCORRECT_TYPE', { message });
}

/** A name that applications give to a push: 1 to 16 letters and digits. @throws AppError INCORRECT_TYPE */
export function shortName(name: string, value: JsonValue | undefined): string | null {
  if (isLeftOut(value)) return null;
  if (typeof value === 'string' && SHORT_NAME.test(value)) return value;
  throw incorrect(`${name} must be 1 to 16 letters and digits.`);
}

/** @throws AppError INCORRECT_TYPE where a text is none that PostgreSQL can store; nothing is dropped in silence */
export function assertStorable(value: JsonValue): void {
  if (typeof value === 'string' && !isStorableText(value))
    throw incorrect('Strings must be valid Unicode without NUL characters.');
  if (Array.isArray(value)) value.forEach(assertStorable);
  else if (isJsonObject(value))
    for (const [key, member] of Object.entries(value)) {
      assertStorable(key);
      assertStorable(member);
    }
}
