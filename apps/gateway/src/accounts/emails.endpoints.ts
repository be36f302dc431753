import { z } from 'zod';
import { describeEndpoints } from '../openapi/endpoint.decorator.js';
import { callbackName } from './script-answer.js';
import { passwordSchema as password } from '#objects';

const email = z.looseObject({ email: z.string().describe('The address of a user.') });
const nothing = z.object({});
const sent = { 200: { description: 'The mail is on its way.', body: nothing } };
const done = { 200: { description: 'Done.', body: nothing } };

const callback = callbackName.describe('The function of the page that receives the result.');
const script = {
  200: {
    description: 'A script that calls `callback` with `{}` or with `{code, error}`.',
    mediaType: 'application/javascript',
  },
};

/** The errors of a request for a mail. */
const REQUEST_ERRORS = ['EMAIL_MISSING', 'INVALID_EMAIL', 'EMAIL_NOT_FOUND', 'TOO_MANY_EMAILS'] as const;
/** Common errors of endpoints with credentials, which these endpoints have as well. */
const OPEN_ERRORS = ['TOO_MANY_REQUESTS', 'SERVICE_UNAVAILABLE'] as const;

export const emailsEndpoints = describeEndpoints('E-mail', {
  requestVerification: {
    summary: 'Send a mail to verify an address with',
    description: 'If the address is already verified, no mail is sent.',
    credentials: 'application',
    body: email,
    answers: sent,
    errors: [...REQUEST_ERRORS, 'EMAIL_VERIFICATION_OFF'],
  },
  requestPasswordReset: {
    summary: 'Send a mail to reset a password with',
    credentials: 'application',
    body: email,
    answers: sent,
    errors: REQUEST_ERRORS,
  },
});

export const mailLinksEndpoints = describeEndpoints('E-mail', {
  verify: {
    summary: 'Verify an address',
    description: 'With the token of a mailed link, for your own pages. A repeated request changes nothing.',
    credentials: 'none',
    answers: done,
    errors: ['LINK_EXPIRED', ...OPEN_ERRORS],
  },
  verifyByScript: {
    summary: 'Verify an address by a script element',
    description:
      'For page scripts that cannot `POST`. Without `callback` the request changes nothing, because mail scanners follow links.',
    credentials: 'none',
    query: z.object({ callback }),
    answers: script,
    errors: ['NOT_SUPPORTED', 'TOO_MANY_REQUESTS'],
  },
  resetPassword: {
    summary: 'Set a new password',
    description:
      'With the token of a mailed link, for your own pages. Replaces the session token, ends a lockout of the user, and invalidates older links.',
    credentials: 'none',
    body: z.looseObject({ password }),
    answers: done,
    errors: ['LINK_EXPIRED', 'PASSWORD_MISSING', 'INVALID_PASSWORD', ...OPEN_ERRORS],
  },
  resetPasswordByScript: {
    summary: 'Set a new password by a script element',
    description:
      'For page scripts that cannot `POST`. Prefer `POST`: here the URL contains the password, and proxies may log URLs.',
    credentials: 'none',
    query: z.object({ callback, password: z.string().describe('The new password.') }),
    answers: script,
    errors: ['NOT_SUPPORTED', 'TOO_MANY_REQUESTS'],
  },
});
