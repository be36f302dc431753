import { z } from 'zod';

/** What a mail is for. Its link is good for nothing else. */
export const MAIL_KINDS = ['verifyEmail', 'resetPassword'] as const;

export type MailKind = (typeof MAIL_KINDS)[number];

export const MAX_LANGUAGES = 6;

/** A language tag such as `zh-CN` (BCP 47). */
export const languageTag = z
  .string()
  .regex(/^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8}){0,3}$/, 'must be a language such as en or zh-CN');

/** Languages that somebody reads, the best one first. */
export const languages = z.array(languageTag).max(MAX_LANGUAGES);

/** What the token of a mail is sealed for: it does not open beside another user. */
export function sealedTokenContext({ appId, userId }: Readonly<Record<'appId' | 'userId', string>>): string {
  return `mail to ${userId} of ${appId}`;
}
