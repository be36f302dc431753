import { z } from 'zod';
import type { JsonObject } from '#contracts';
import { isJsonObject } from '#objects';
import { acl, objectId, timestamp } from '../objects/object.endpoints.js';
import { named } from '../openapi/endpoint.decorator.js';

/** Shapes of users as clients send and see them. They describe; accounts judges. */

const username = z.string().min(1).max(255).describe('Unique; case counts.');
export const password = z.string().min(1).describe('Never in any answer.');
const email = z.string().max(254).describe('Unique; case counts.');
export const mobilePhoneNumber = z
  .string()
  .describe('`+` and 6 to 15 digits, unique. Without a prefix it counts as Chinese.');
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
          platform: z.string().optional().describe('What the union id belongs to.'),
          main_account: z.union([z.boolean(), z.enum(['true', 'false'])]).optional(),
        })
        .nullable(),
    )
    .describe('Accounts on other platforms, by platform (docs/platforms.md). `null` in an update unlinks.'),
);

const linkedAuthData = named(
  'LinkedAuthData',
  z
    .record(z.string(), z.looseObject({}).describe('As the app has sent it, and what the platform has added.'))
    .describe('Accounts on other platforms, by platform; `_<platform>_unionid` holds a union id.'),
);

/** A user as its readers see it. */
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
    .describe('A user. `keys` and settings can leave fields out; any other member is a custom field.'),
);

/** A user as it sees itself. */
export const ownUser = named(
  'UserWithSession',
  user.extend({ sessionToken }).describe('A user with its session token; any other member is a custom field.'),
);

/** Fields of a user that a client may set. */
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
    smsCode: z.string().optional().describe('Instead of a password, with `mobilePhoneNumber`.'),
  })
  .describe('A password and one identifier. With several, the first of them in this order counts.');

export const passwordChange = z.looseObject({ old_password: password, new_password: password });

/** The answer to a changed user. */
export const changedUser = z
  .looseObject({ updatedAt: timestamp, objectId: objectId.optional(), sessionToken: sessionToken.optional() })
  .describe('`objectId` and the changed fields only where they were asked for; `sessionToken` where it changed.');

export const changedPassword = z.object({ updatedAt: timestamp, objectId, sessionToken });

const PATH_PREFIX = 'authData.';

/** Whether fields of a user say something of its accounts on other platforms: then their way leads over auth-linking. */
export function hasAuthData(fields: JsonObject): boolean {
  return Object.entries(fields).some(([key, value]) => {
    if (key.startsWith(PATH_PREFIX)) return true;
    const isEmpty = value === null || (isJsonObject(value) && Object.keys(value).length === 0);
    return key === 'authData' && !isEmpty;
  });
}
