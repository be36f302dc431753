import type { JsonObject } from '#contracts';
import { appError } from '#errors';
import { isAbsent } from '#objects';
import { parseEmail } from '../users/user-identifier.rules.js';

/** The address of a request. @throws AppError EMAIL_MISSING, INVALID_EMAIL */
export function requireEmail({ email }: JsonObject): string {
  if (isAbsent(email)) throw appError('EMAIL_MISSING');
  return parseEmail(email);
}
