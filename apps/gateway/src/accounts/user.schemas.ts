import { z } from 'zod';
import type { JsonObject } from '#contracts';
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
import { acl, timestamp } from '../objects/object.endpoints.js';
import { named } from '../openapi/endpoint.decorator.js';

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

/** A user in responses to others. */
export const user = named('User', responseSchema(userClass, acl));

/** A user in responses to itself. */
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

export const signUpFields = named(
  'SignUp',
  writableFields.describe(
    'The new user: with `username` and `password`, or with `authData`. Any other member is a custom field.',
  ),
);

export const logInFields = z
  .looseObject({
    username: usernameSchema.optional(),
    email: emailSchema.optional(),
    mobilePhoneNumber: phoneNumberSchema.optional(),
    password: passwordSchema.optional(),
    smsCode: z.string().optional().describe('Replaces the password, with `mobilePhoneNumber`.'),
  })
  .describe('A password and one identifier. If there are several identifiers, the first in this order is used.');

export const passwordChange = z.looseObject({ old_password: passwordSchema, new_password: passwordSchema });

/** The response to a change of a user. */
export const changedUser = z
  .looseObject({ updatedAt: timestamp, objectId: objectIdSchema.optional(), sessionToken: sessionToken.optional() })
  .describe('`objectId` and the changed fields only if the request asks for them; `sessionToken` only if it changed.');

export const changedPassword = z.object({ updatedAt: timestamp, objectId: objectIdSchema, sessionToken });

/** Whether the body of a change sets an e-mail address, to which a verification mail may be sent. */
export function setsEmail(body: unknown): boolean {
  const { email } = (body ?? {}) as { readonly email?: unknown };
  return typeof email === 'string' && email !== '';
}

const PATH_PREFIX = 'authData.';

/** Whether the fields contain accounts on other platforms. Such requests are sent to auth-linking. */
export function hasAuthData(fields: JsonObject): boolean {
  return Object.entries(fields).some(([key, value]) => {
    if (key.startsWith(PATH_PREFIX)) return true;
    const isEmpty = value === null || (isJsonObject(value) && Object.keys(value).length === 0);
    return key === 'authData' && !isEmpty;
  });
}
