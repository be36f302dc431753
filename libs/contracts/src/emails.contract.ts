import { z } from 'zod';
import { caller } from './caller.schema.js';
import { jsonObject } from './json.schema.js';
import { languages, MAIL_KINDS } from './mail.schema.js';
import { PASSWORD_TIMEOUT_MS, rpc } from './rpc.js';

/** As it stands in a URL: what is no token is one that has expired. */
const token = z.string().max(1024);
const kind = z.enum(MAIL_KINDS);
const nothing = z.object({});

/**
 * What a mailed link would do now. `open`: what it is for. `done`: the address is verified already. `expired`: nothing, and
 * nobody can tell whether it ever did where the names are null.
 */
const mailLink = z.object({
  state: z.enum(['open', 'done', 'expired']),
  applicationName: z.string().nullable(),
  /** The address that it was sent to, and whose it is; only while these are still the user's. */
  email: z.string().nullable(),
  username: z.string().nullable(),
  /** Whether `renewLink` sends another one. */
  canBeRenewed: z.boolean(),
});

export type MailLink = z.output<typeof mailLink>;

/** What belongs to e-mail addresses and the links that are sent to them. The token alone says which application and user. */
export const emailsRpc = {
  requestVerification: rpc('accounts.requestEmailVerification', z.object({ caller, body: jsonObject }), nothing),
  requestPasswordReset: rpc('accounts.requestPasswordReset', z.object({ caller, body: jsonObject }), nothing),
  /** Changes nothing. */
  inspectLink: rpc('accounts.inspectMailLink', z.object({ kind, token }), z.object({ link: mailLink })),
  /** Sends a new link in place of an expired one, to the same address. Fails with LINK_EXPIRED, TOO_MANY_EMAILS. */
  renewLink: rpc('accounts.renewMailLink', z.object({ kind, token, languages }), nothing),
  /** Fails with LINK_EXPIRED. The second time, `state` is `done`, and nothing changes; the first time it is `open`. */
  verify: rpc('accounts.verifyEmail', z.object({ token }), z.object({ link: mailLink })),
  /** Fails with LINK_EXPIRED, PASSWORD_MISSING, INVALID_PASSWORD. */
  resetPassword: rpc(
    'accounts.resetPasswordByMail',
    z.object({ token, password: z.unknown() }),
    nothing,
    PASSWORD_TIMEOUT_MS,
  ),
};
