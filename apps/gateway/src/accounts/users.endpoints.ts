import { z } from 'zod';
import type { JsonObject } from '#contracts';
import type { ErrorName } from '#errors';
import {
  emailSchema,
  isJsonObject,
  objectIdSchema,
  passwordSchema,
  phoneNumberSchema,
  requestSchema,
  responseSchema,
  userClass,
  usernameSchema,
} from '#objects';
import {
  acl,
  CONDITION_ERRORS,
  FIELD_ERRORS,
  LIST_ERRORS,
  listOf,
  listParams,
  READ_ERRORS,
  readParams,
  removeParams,
  timestamp,
  writeParams,
} from '../objects/object.endpoints.js';
import { describeEndpoints, named } from '../openapi/endpoint.decorator.js';

const sessionToken = z.string().regex(/^[0-9a-z]{25}$/);
const platformId = z.union([z.string(), z.int()]);

const authData = named(
  'AuthData',
  z
    .record(
      z.string(),
      z
        .looseObject({
          uid: platformId.optional(),
          openid: platformId.optional(),
          id: platformId.optional(),
          access_token: z.string().optional(),
          code: z.string().optional(),
          unionid: z.string().optional(),
          platform: z.string().optional().describe('The platform of the union id.'),
          main_account: z.union([z.boolean(), z.enum(['true', 'false'])]).optional(),
        })
        .nullable(),
    )
    .describe('Accounts on other platforms, by platform (docs/platforms.md). `null` in an update unlinks.'),
);

const user = named('User', responseSchema(userClass, acl));

export const ownUser = named(
  'UserWithSession',
  user.extend({ sessionToken }).describe('A user with its session token; any other member is a custom field.'),
);

export const writableFields = named(
  'UserFields',
  requestSchema(userClass, 'change', acl)
    .extend({ authData: authData.nullable().optional() })
    .describe('Fields of a user; any other member is a custom field.'),
);

const signUpFields = named(
  'SignUp',
  writableFields.describe(
    'The new user: with `username` and `password`, or with `authData`. Any other member is a custom field.',
  ),
);

const logInFields = z
  .looseObject({
    username: usernameSchema.optional(),
    email: emailSchema.optional(),
    mobilePhoneNumber: phoneNumberSchema.optional(),
    password: passwordSchema.optional(),
    smsCode: z.string().optional().describe('Replaces the password, with `mobilePhoneNumber`.'),
  })
  .describe('A password and one identifier. If there are several identifiers, the first in this order is used.');

const logInQuery = z.object({
  username: usernameSchema.optional().describe('One of three identifiers.'),
  email: emailSchema.optional().describe('The second.'),
  mobilePhoneNumber: phoneNumberSchema.optional().describe('The third.'),
  password: passwordSchema.optional().describe('Not needed with a code.'),
  smsCode: z.string().optional().describe('Replaces the password, with `mobilePhoneNumber`.'),
});

const passwordChange = z.looseObject({ old_password: passwordSchema, new_password: passwordSchema });

const changedUser = z
  .looseObject({ updatedAt: timestamp, objectId: objectIdSchema.optional(), sessionToken: sessionToken.optional() })
  .describe(
    'The changed fields only if the request asks for them; `objectId` then, too, and by the path of the class; `sessionToken` only if it changed.',
  );

const changedPassword = z.object({ updatedAt: timestamp, objectId: objectIdSchema, sessionToken });

const PATH_PREFIX = 'authData.';

export const USER_FIELD_ERRORS = [
  ...FIELD_ERRORS,
  'INVALID_EMAIL',
  'INVALID_PHONE',
  'USERNAME_TAKEN',
  'EMAIL_TAKEN',
  'PHONE_TAKEN',
  'INVALID_USERNAME',
  'INVALID_PASSWORD',
] as const satisfies ErrorName[];

const AUTH_DATA_ERRORS = [
  'IDENTITY_TAKEN',
  'IDENTITY_MISSING',
  'INVALID_IDENTITY',
  'INVALID_WEIXIN_IDENTITY',
] as const satisfies ErrorName[];

export const LOGIN_ERRORS = ['PHONE_UNVERIFIED', 'EMAIL_UNVERIFIED', 'LOCKED_OUT'] as const satisfies ErrorName[];

const location = { Location: 'The absolute URL of the user.' };
const lastModified = { 'Last-Modified': 'The time of `updatedAt`.' };

export const usersEndpoints = describeEndpoints('Users', {
  signUp: {
    summary: 'Sign up, or log in with authData',
    description:
      'If a user has one of the accounts in `authData`, that user is logged in and linked to the other accounts; the rest of the body is then ignored.',
    credentials: 'application',
    query: z.object({
      failOnNotExist: z.enum(['true', '1']).optional().describe('Only log in: code 211 if no user has the accounts.'),
    }),
    body: signUpFields,
    answers: {
      200: { description: 'The user with the accounts, with its session token.', body: ownUser, headers: location },
      201: { description: 'The new user, with its session token.', body: ownUser, headers: location },
    },
    errors: [
      'USERNAME_MISSING',
      'PASSWORD_MISSING',
      ...USER_FIELD_ERRORS,
      ...AUTH_DATA_ERRORS,
      ...LOGIN_ERRORS,
      'USER_NOT_FOUND',
      'FORBIDDEN',
    ],
  },
  list: {
    summary: 'Query users',
    description:
      'For the master key, unless the class permission `find` (`userQueryEnabled`) allows others. A session finds its own user.',
    credentials: 'application',
    query: listParams,
    answers: {
      200: {
        description: 'The matching users.',
        body: listOf(user),
      },
    },
    errors: [...LIST_ERRORS, 'FORBIDDEN'],
  },
  getCurrent: {
    summary: 'Get the user of the session token',
    description: 'The master key cannot replace the session.',
    credentials: 'session',
    query: z.object({
      session_token: z
        .string()
        .optional()
        .describe(
          'Replaces the session token in `X-LC-Session`; an empty value means no session. Some SDKs send the token only here. Your own programs should send the header, because proxies may log URLs.',
        ),
    }),
    answers: { 200: { description: 'The user, with its session token.', body: ownUser, headers: lastModified } },
    errors: ['USER_NOT_FOUND'],
  },
  get: {
    summary: 'Get a user',
    description: 'A user that its ACL hides from the caller is reported as not found.',
    credentials: 'application',
    query: readParams,
    answers: { 200: { description: 'The user.', body: user, headers: lastModified } },
    errors: [...READ_ERRORS, 'USER_NOT_FOUND', 'FORBIDDEN'],
  },
  update: {
    summary: 'Change a user',
    description:
      'Other fields stay unchanged. `{"__op":"Delete"}` removes a field. `authData` links the accounts that it contains; `null` or `{"__op":"Delete"}` for one of them, or for `authData.<platform>`, unlinks it.',
    credentials: 'session or master key',
    query: writeParams,
    body: writableFields,
    answers: { 200: { description: 'The time of the change.', body: changedUser } },
    errors: [
      ...USER_FIELD_ERRORS,
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
    description: 'The old token becomes invalid.',
    credentials: 'session or master key',
    answers: { 200: { description: 'The user, with its new session token.', body: ownUser } },
    errors: ['USER_NOT_FOUND', 'SESSION_REQUIRED'],
  },
  updatePassword: {
    summary: 'Change a password with the old one',
    credentials: 'session or master key',
    body: passwordChange,
    answers: {
      200: { description: 'The session token, which is new unless a setting keeps it.', body: changedPassword },
    },
    errors: ['PASSWORD_MISMATCH', 'USER_NOT_FOUND', 'INVALID_PASSWORD', 'LOCKED_OUT', 'SESSION_REQUIRED', 'FORBIDDEN'],
  },
  remove: {
    summary: 'Delete users',
    description: 'Several ids are separated by commas: all are deleted, or none.',
    query: removeParams,
    credentials: 'session or master key',
    answers: { 200: { description: 'Done.', body: z.object({}) } },
    errors: [...CONDITION_ERRORS, 'NO_EFFECT', 'USER_NOT_FOUND', 'SESSION_REQUIRED', 'FORBIDDEN'],
  },
});

const LOGIN_ANSWERS = {
  credentials: 'application',
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
} as const;

export const loginEndpoints = describeEndpoints('Users', {
  logIn: {
    summary: 'Log in with a password or a code',
    description: 'A code of `requestLoginSmsCode` needs the number. If both are sent, the password is used.',
    body: logInFields,
    ...LOGIN_ANSWERS,
  },
  logInByQuery: {
    summary: 'Log in by a query, as old SDKs do',
    description: 'As the `POST`. Proxies may log a password in a URL.',
    query: logInQuery,
    ...LOGIN_ANSWERS,
  },
});

/** A mail may be sent to a new address, and platforms are asked about accounts before the session is verified. */
export function limitsOfChange(body: unknown): ('messages' | 'logins')[] {
  const fields = (body ?? {}) as JsonObject;
  const { email } = fields;
  const setsEmail = typeof email === 'string' && email !== '';
  return [...(setsEmail ? ['messages' as const] : []), ...(hasAuthData(fields) ? ['logins' as const] : [])];
}

/** Whether the fields contain accounts on other platforms. Such requests are sent to auth-linking. */
export function hasAuthData(fields: JsonObject): boolean {
  const { authData = null } = fields;
  const isEmpty = authData === null || (isJsonObject(authData) && Object.keys(authData).length === 0);
  return !isEmpty || Object.keys(fields).some((key) => key.startsWith(PATH_PREFIX));
}
