import { z } from 'zod';
import type { JsonObject } from '#contracts';
import { isJsonObject } from '#objects';
import { acl, objectId, timestamp } from '../objects/object.endpoints.js';
import { named } from '../openapi/endpoint.decorator.js';

/** Shapes of users in requests and responses. They only describe; accounts validates. */

const username = z.string().min(1).max(255).describe('Unique, case-sensitive.');
export const password = z.string().min(1).describe('Never part of a response.');
const email = z.string().max(254).describe('Unique, case-sensitive.');
export const mobilePhoneNumber = z
  .string()
  .describe('`+` and 6 to 15 digits, unique. A number without a prefix is a Chinese one.');
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

const linkedAuthData = named(
  'LinkedAuthData',
  z
    .record(z.string(), z.looseObject({}).describe('The data that the app sent, with additions of the platform.'))
    .describe('Accounts on other platforms, by platform; `_<platform>_unionid` contains a union id.'),
);

/** A user in responses to others. */
export const user = named(
  'User',
  z
    .looseObject({
      objectId,
      createdAt: timestamp,
      updatedAt: timestamp,
      username: username.optional(),
      email: email.optional(),
      emailVerified: z.boolean().nullable().optional(),
      mobilePhoneNumber: mobilePhoneNumber.optional(),
      mobilePhoneVerified: z.boolean().optional(),
      authData: linkedAuthData.optional().describe('For the user and the master key only.'),
      ACL: acl.optional(),
    })
    .describe('A user. `keys` and settings can omit fields; any other member is a custom field.'),
);

/** A user in responses to itself. */
export const ownUser = named(
  'UserWithSession',
  user.extend({ sessionToken }).describe('A user with its session token; any other member is a custom field.'),
);

export const writableFields = named(
  'UserFields',
  z
    .looseObject({
      username: username.optional(),
      password: password.optional(),
      email: email.nullable().optional(),
      mobilePhoneNumber: mobilePhoneNumber.nullable().optional(),
      authData: authData.nullable().optional(),
      ACL: acl.nullable().optional(),
    })
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
    username: username.optional(),
    email: email.optional(),
    mobilePhoneNumber: mobilePhoneNumber.optional(),
    password: password.optional(),
    smsCode: z.string().optional().describe('Replaces the password, with `mobilePhoneNumber`.'),
  })
  .describe('A password and one identifier. If there are several identifiers, the first in this order is used.');

export const passwordChange = z.looseObject({ old_password: password, new_password: password });

/** The response to a change of a user. */
export const changedUser = z
  .looseObject({ updatedAt: timestamp, objectId: objectId.optional(), sessionToken: sessionToken.optional() })
  .describe('`objectId` and the changed fields only if the request asks for them; `sessionToken` only if it changed.');

export const changedPassword = z.object({ updatedAt: timestamp, objectId, sessionToken });

const PATH_PREFIX = 'authData.';

/** Whether the fields contain accounts on other platforms. Such requests are sent to auth-linking. */
export function hasAuthData(fields: JsonObject): boolean {
  return Object.entries(fields).some(([key, value]) => {
    if (key.startsWith(PATH_PREFIX)) return true;
    const isEmpty = value === null || (isJsonObject(value) && Object.keys(value).length === 0);
    return key === 'authData' && !isEmpty;
  });
}
