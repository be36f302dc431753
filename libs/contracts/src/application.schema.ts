import { z } from 'zod';

/** Settings of an application with their defaults. Their meaning: `docs/decisions.md` and the API page. */
export const applicationSettings = z.object({
  verifyEmailOnSignUp: z.boolean().default(false).describe('A given or changed e-mail address starts as unverified.'),
  forbidUnverifiedEmailLogin: z
    .boolean()
    .default(false)
    .describe('Refuse logins of users whose address is unverified (216).'),
  forbidUnverifiedPhoneLogin: z
    .boolean()
    .default(false)
    .describe('Refuse logins of users whose phone number is unverified (215).'),
  reloginAfterPasswordChange: z.boolean().default(true).describe('A password change makes a new session token.'),
  requireOldPassword: z.boolean().default(false).describe('A user changes the password only with the old one.'),
  hideContact: z.boolean().default(false).describe('Hide e-mail address and phone number from other users.'),
});

export type ApplicationSettings = z.output<typeof applicationSettings>;
export const SETTING_NAMES = Object.keys(applicationSettings.shape) as (keyof ApplicationSettings)[];

export const application = z.object({
  id: z.string(),
  name: z.string(),
  appKey: z.string(),
  masterKey: z.string(),
  settings: applicationSettings,
  createdAt: z.iso.datetime(),
});

export type Application = z.output<typeof application>;
