import type { FormFields } from './form-body.js';
import type { PasswordMistake } from './page-texts.js';

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
