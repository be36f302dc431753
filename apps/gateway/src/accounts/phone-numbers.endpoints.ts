import { z } from 'zod';
import { timestamp } from '../objects/object.endpoints.js';
import { describeEndpoints } from '../openapi/endpoint.decorator.js';
import { mobilePhoneNumber, ownUser, password, writableFields } from './user.schemas.js';
import { FIELD_ERRORS, LOGIN_ERRORS } from './users.endpoints.js';

const number = z.looseObject({ mobilePhoneNumber });
const numberless = z.looseObject({
  mobilePhoneNumber: mobilePhoneNumber
    .optional()
    .describe(
      'Without it: that of the user whose session the request carries, or else the one to which the code was sent.',
    ),
});
const code = z
  .string()
  .regex(/^\d{6}$/)
  .describe('The six digits of the message. Good once, until it expires, for five wrong guesses.');
const ttl = (byDefault: number) =>
  z.int().min(1).max(30).optional().describe(`How long the code is good, in minutes; ${byDefault} unless given.`);
const label = (maxLength: number) => z.string().min(1).max(maxLength).optional();

const sent = { 200: { description: 'The code is on its way.', body: z.object({}) } };
const done = { 200: { description: 'Done.', body: z.object({}) } };
const location = { Location: 'The absolute URL of the user.' };

/** What a request for a code can be refused for. */
const REQUEST_ERRORS = ['PHONE_MISSING', 'INVALID_PHONE', 'SMS_TOO_FAST', 'SMS_TOO_FREQUENT'] as const;

export const phoneNumbersEndpoints = describeEndpoints('Phone numbers', {
  requestCode: {
    summary: 'Send a code to any number',
    description:
      'For `verifySmsCode` and `usersByMobilePhone`. Members that are not named here are variables for the template, 20 at most.',
    credentials: 'application',
    body: number.extend({
      smsType: z.enum(['sms', 'voice']).optional(),
      ttl: ttl(10),
      name: label(100).describe('What the application calls itself in the message; its own name unless given.'),
      op: label(100).describe('What the code is for.'),
      template: label(64),
      sign: label(64),
    }),
    answers: sent,
    errors: [...REQUEST_ERRORS, 'INCORRECT_TYPE'],
  },
  verifyCode: {
    summary: 'Verify a code',
    description: 'Without a number, that of the user whose session the request carries. No user is changed.',
    credentials: 'application',
    body: number.partial(),
    answers: done,
    errors: ['PHONE_MISSING', 'INVALID_PHONE', 'INVALID_SMS_CODE'],
  },
  enter: {
    summary: 'Sign up or log in with a number',
    description:
      'By a code of `requestSmsCode`. Fields of a user count where nobody has the number yet; the username is the number unless given, or a random one where somebody calls himself by that number.',
    credentials: 'application',
    body: writableFields.extend({ mobilePhoneNumber, smsCode: code }),
    answers: {
      200: { description: 'The user who has the number, with its session token.', body: ownUser, headers: location },
      201: { description: 'The new user, with its session token.', body: ownUser, headers: location },
    },
    errors: [...FIELD_ERRORS, 'INVALID_IDENTITY', 'PHONE_MISSING', ...LOGIN_ERRORS, 'INVALID_SMS_CODE', 'FORBIDDEN'],
  },
  requestLoginCode: {
    summary: 'Send a code to log in with',
    description: 'For `POST /1.1/login`. Only to a number that its user has verified.',
    credentials: 'application',
    body: number,
    answers: sent,
    errors: [...REQUEST_ERRORS, 'PHONE_NOT_FOUND', 'PHONE_UNVERIFIED'],
  },
  requestVerification: {
    summary: 'Send a code to verify a number with',
    description: 'Where the number is verified already nothing is sent.',
    credentials: 'application',
    body: number.partial(),
    answers: sent,
    errors: [...REQUEST_ERRORS, 'PHONE_NOT_FOUND'],
  },
  verify: {
    summary: 'Verify a number',
    credentials: 'application',
    body: numberless,
    answers: {
      200: {
        description: 'The user whose number it is.',
        body: z.object({ updatedAt: timestamp, objectId: z.string() }),
      },
    },
    errors: ['INVALID_PHONE', 'PHONE_NOT_FOUND', 'INVALID_SMS_CODE'],
  },
  requestPasswordReset: {
    summary: 'Send a code to reset a password with',
    description: 'Only to a number that its user has verified.',
    credentials: 'application',
    body: number,
    answers: sent,
    errors: [...REQUEST_ERRORS, 'PHONE_NOT_FOUND', 'PHONE_UNVERIFIED'],
  },
  resetPassword: {
    summary: 'Reset a password',
    description: 'The session token becomes a new one, and the user is no longer locked out.',
    credentials: 'application',
    body: numberless.extend({ password }),
    answers: done,
    errors: [
      'INVALID_PHONE',
      'PASSWORD_MISSING',
      'INVALID_PASSWORD',
      'PHONE_NOT_FOUND',
      'PHONE_UNVERIFIED',
      'INVALID_SMS_CODE',
    ],
  },
  requestChange: {
    summary: 'Send a code to another number of one’s own',
    credentials: 'session',
    body: number.extend({ ttl: ttl(6) }),
    answers: sent,
    errors: [...REQUEST_ERRORS, 'INCORRECT_TYPE', 'SESSION_REQUIRED', 'PHONE_TAKEN'],
  },
  change: {
    summary: 'Change one’s number',
    description: 'The number is then verified.',
    credentials: 'session',
    body: number.extend({ code }),
    answers: done,
    errors: ['PHONE_MISSING', 'INVALID_PHONE', 'SESSION_REQUIRED', 'PHONE_TAKEN', 'INVALID_SMS_CODE', 'FORBIDDEN'],
  },
});
