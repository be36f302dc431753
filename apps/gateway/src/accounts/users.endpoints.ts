import { z } from 'zod';
import type { ErrorName } from '#errors';
import {
  CONDITION_ERRORS,
  LIST_ERRORS,
  listOf,
  listParams,
  READ_ERRORS,
  readParams,
  removeParams,
  writeParams,
} from '../objects/object.endpoints.js';
import { describeEndpoints } from '../openapi/endpoint.decorator.js';
import {
  changedPassword,
  changedUser,
  logInFields,
  ownUser,
  passwordChange,
  signUpFields,
  user,
  writableFields,
} from './user.schemas.js';

/** What the fields of a user can be refused for. */
export const FIELD_ERRORS = [
  'INVALID_KEY_NAME',
  'MALFORMED_POINTER',
  'INCORRECT_TYPE',
  'OBJECT_TOO_LARGE',
  'READ_ONLY_KEY',
  'INVALID_NESTED_KEY',
  'INVALID_ACL',
  'INVALID_EMAIL',
  'INVALID_PHONE',
  'INVALID_RELATION',
  'USERNAME_TAKEN',
  'EMAIL_TAKEN',
  'PHONE_TAKEN',
  'INVALID_USERNAME',
  'INVALID_PASSWORD',
] as const satisfies ErrorName[];

/** What `authData` can be refused for. */
const AUTH_DATA_ERRORS = [
  'IDENTITY_TAKEN',
  'IDENTITY_MISSING',
  'INVALID_IDENTITY',
  'INVALID_WEIXIN_IDENTITY',
] as const satisfies ErrorName[];

/** What keeps out a user who has shown who it is. */
export const LOGIN_ERRORS = ['PHONE_UNVERIFIED', 'EMAIL_UNVERIFIED', 'LOCKED_OUT'] as const satisfies ErrorName[];

const location = { Location: 'The absolute URL of the user.' };
const lastModified = { 'Last-Modified': 'The time of `updatedAt`.' };

export const usersEndpoints = describeEndpoints('Users', {
  signUp: {
    summary: 'Sign up, or log in with authData',
    description:
      'Whoever has one of the accounts in `authData` is logged in, and gets the others too; the rest of the body does not count then.',
    credentials: 'application',
    query: z.object({
      failOnNotExist: z.enum(['true', '1']).optional().describe('Log in only: 211 where nobody has the accounts.'),
    }),
    body: signUpFields,
    answers: {
      200: { description: 'The user who has the accounts, with its session token.', body: ownUser, headers: location },
      201: { description: 'The new user, with its session token.', body: ownUser, headers: location },
    },
    errors: [
      'USERNAME_MISSING',
      'PASSWORD_MISSING',
      ...FIELD_ERRORS,
      ...AUTH_DATA_ERRORS,
      ...LOGIN_ERRORS,
      'USER_NOT_FOUND',
      'FORBIDDEN',
    ],
  },
  list: {
    summary: 'Query users',
    description: 'For the master key, unless the class permission `find` (`userQueryEnabled`) lets others in.',
    credentials: 'application',
    query: listParams,
    answers: {
      200: {
        description: 'The users found.',
        body: listOf(user),
      },
    },
    errors: [...LIST_ERRORS, 'FORBIDDEN'],
  },
  getCurrent: {
    summary: 'Get the user of the session token',
    description: 'The master key does not stand in for the session.',
    credentials: 'session',
    query: z.object({
      session_token: z
        .string()
        .optional()
        .describe(
          'The session token, in place of the one in `X-LC-Session`; a blank one is none. Some SDKs send it only here; a program of your own should send the header, since proxies may log URLs.',
        ),
    }),
    answers: { 200: { description: 'The user, with its session token.', body: ownUser, headers: lastModified } },
    errors: ['USER_NOT_FOUND'],
  },
  get: {
    summary: 'Get a user',
    description: 'A user whom the ACL hides from the caller is answered like one who does not exist.',
    credentials: 'application',
    query: readParams,
    answers: { 200: { description: 'The user.', body: user, headers: lastModified } },
    errors: [...READ_ERRORS, 'USER_NOT_FOUND', 'FORBIDDEN'],
  },
  update: {
    summary: 'Change a user',
    description:
      'Fields that are not sent stay as they are. `{"__op":"Delete"}` removes a field. `authData` links the accounts that it names; `null` or `{"__op":"Delete"}` for one of them, or for `authData.<platform>`, unlinks it.',
    credentials: 'session or master key',
    query: writeParams,
    body: writableFields,
    answers: { 200: { description: 'The time of the change.', body: changedUser } },
    errors: [
      ...FIELD_ERRORS,
      ...AUTH_DATA_ERRORS,
      ...CONDITION_ERRORS,
      'NO_EFFECT',
      'CLIENT_NOT_ALLOWED',
      'USER_NOT_FOUND',
      'SESSION_REQUIRED',
      'FORBIDDEN',
    ],
  },
  refreshSessionToken: {
    summary: 'Get a new session token',
    description: 'The old token is nobody’s from then on.',
    credentials: 'session or master key',
    answers: { 200: { description: 'The user, with its new session token.', body: ownUser } },
    errors: ['USER_NOT_FOUND', 'SESSION_REQUIRED'],
  },
  updatePassword: {
    summary: 'Change a password, knowing the old one',
    credentials: 'session or master key',
    body: passwordChange,
    answers: {
      200: { description: 'The session token: a new one, unless a setting keeps it.', body: changedPassword },
    },
    errors: ['PASSWORD_MISMATCH', 'USER_NOT_FOUND', 'INVALID_PASSWORD', 'LOCKED_OUT', 'SESSION_REQUIRED', 'FORBIDDEN'],
  },
  remove: {
    summary: 'Delete users',
    description: 'Several ids may be joined by commas: all of them go, or none.',
    query: removeParams,
    credentials: 'session or master key',
    answers: { 200: { description: 'Done.', body: z.object({}) } },
    errors: [...CONDITION_ERRORS, 'NO_EFFECT', 'USER_NOT_FOUND', 'SESSION_REQUIRED', 'FORBIDDEN'],
  },
});

export const loginEndpoints = describeEndpoints('Users', {
  logIn: {
    summary: 'Log in with a password or a code',
    description: 'The code is one of `requestLoginSmsCode`, together with the number. With both, the password counts.',
    credentials: 'application',
    body: logInFields,
    answers: { 200: { description: 'The user, with its session token.', body: ownUser } },
    errors: [
      'INVALID_EMAIL',
      'INVALID_PHONE',
      'USERNAME_MISSING',
      'PASSWORD_MISSING',
      'PASSWORD_MISMATCH',
      'USER_NOT_FOUND',
      'PHONE_UNVERIFIED',
      'EMAIL_UNVERIFIED',
      'INVALID_USERNAME',
      'INVALID_PASSWORD',
      'PHONE_MISSING',
      'PHONE_NOT_FOUND',
      'LOCKED_OUT',
      'INVALID_SMS_CODE',
    ],
  },
});
