import { appError } from '#errors';
import type { PasswordMistake } from './page-texts.js';

/** The fields of a form by name. */
export type FormFields = ReadonlyMap<string, string>;

const MEDIA_TYPE = /^application\/x-www-form-urlencoded[ \t]*(?:;|$)/i;
const MAX_FIELDS = 16;
const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Parses the body of a form strictly, because a password that is decoded differently would lock the user out.
 * @throws AppError MALFORMED_JSON where the body is no form or not UTF-8, or contains a field twice
 */
export function parseFormBody(bytes: Buffer, contentType: string | undefined): FormFields {
  if (contentType === undefined || !MEDIA_TYPE.test(contentType)) throw malformed();
  const parts = decoded(() => utf8.decode(bytes))
    .split('&')
    .filter((part) => part !== '');
  const fields = new Map(parts.slice(0, MAX_FIELDS).map(fieldOf));
  // A field that occurs twice, or too many fields, leave fewer names than parts.
  if (fields.size !== parts.length) throw malformed();
  return fields;
}

function fieldOf(part: string): [name: string, value: string] {
  const end = part.includes('=') ? part.indexOf('=') : part.length;
  return [unescaped(part.slice(0, end)), unescaped(part.slice(end + 1))];
}

function unescaped(text: string): string {
  return decoded(() => decodeURIComponent(text.replaceAll('+', ' ')));
}

function decoded(decode: () => string): string {
  try {
    return decode();
  } catch {
    throw malformed();
  }
}

function malformed(): Error {
  return appError('MALFORMED_JSON', { message: 'The form is malformed.' });
}

/** The minimum for passwords that people choose (NIST SP 800-63B). The API itself accepts shorter ones. */
export const MIN_PASSWORD_LENGTH = 8;

/** The mistakes in the two fields of a new password. */
export interface PasswordMistakes {
  readonly password?: PasswordMistake;
  readonly isDifferent?: boolean;
}

/** The two fields of the form; a missing one is empty. */
export function newPasswordOf(fields: FormFields): { password: string; repeat: string } {
  return { password: fields.get('password') ?? '', repeat: fields.get('repeat') ?? '' };
}

/** @returns undefined where the password can be set */
export function mistakesIn(fields: FormFields): PasswordMistakes | undefined {
  const { password, repeat } = newPasswordOf(fields);
  if (password.trim() === '') return { password: 'missing' };
  if (Array.from(password).length < MIN_PASSWORD_LENGTH) return { password: 'tooShort' };
  return password === repeat ? undefined : { isDifferent: true };
}
