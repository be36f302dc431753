import { appError } from '#errors';
import type { PasswordMistake } from './page-texts.js';

/** The fields of a form by name. */
export type FormFields = ReadonlyMap<string, string>;

const MEDIA_TYPE = /^application\/x-www-form-urlencoded[ \t]*(?:;|$)/i;
const MAX_FIELDS = 16;
const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Parses the body of a form, strictly: a password that was read in another way than it was written would lock its user out.
 * @throws AppError MALFORMED_JSON where it is no form, is no UTF-8, or names a field twice
 */
export function parseFormBody(bytes: Buffer, contentType: string | undefined): FormFields {
  if (contentType === undefined || !MEDIA_TYPE.test(contentType)) throw malformed();
  const parts = decoded(() => utf8.decode(bytes))
    .split('&')
    .filter((part) => part !== '');
  const fields = new Map(parts.slice(0, MAX_FIELDS).map(fieldOf));
  // One that is there twice has fewer names than parts; so has a form with too many.
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

/** What a person chooses for a lasting account (NIST SP 800-63B). The API itself takes shorter ones. */
export const MIN_PASSWORD_LENGTH = 8;

/** What is wrong with the two fields of a new password. */
export interface PasswordMistakes {
  readonly password?: PasswordMistake;
  readonly isDifferent?: boolean;
}

/** The fields of the form; one that is missing is empty. */
export function newPasswordOf(fields: FormFields): { password: string; repeat: string } {
  return { password: fields.get('password') ?? '', repeat: fields.get('repeat') ?? '' };
}

/** Judges the two fields. @returns undefined where the password can be set */
export function mistakesIn(fields: FormFields): PasswordMistakes | undefined {
  const { password, repeat } = newPasswordOf(fields);
  if (password.trim() === '') return { password: 'missing' };
  if (Array.from(password).length < MIN_PASSWORD_LENGTH) return { password: 'tooShort' };
  return password === repeat ? undefined : { isDifferent: true };
}
