import { z } from 'zod';
import {
  appId,
  application,
  applicationSettings,
  CLASS_NAMES,
  CLASS_OPERATIONS,
  classPermission,
  languages,
  MAIL_KINDS,
} from './application.schema.js';
import { caller, principal } from './caller.schema.js';
import { jsonObject } from './json.schema.js';
import { PASSWORD_TIMEOUT_MS, rpc } from './message-kinds.js';
import { MAX_LIST_LIMIT, objectId, objectReadOptions, objectRemoval, objectWriteOptions } from './objects.contract.js';
import { identity, identityChanges, MAX_IDENTITIES, platformKind, platformName, visibleUser } from './user.schema.js';

/** A user that was let in. Replicas of before third-party accounts only made new ones, and did not say so. */
const enteredUser = z.object({ user: visibleUser, isNew: z.boolean().default(true) });

/** Ids in one answer of `accounts.listApplicationIds`. */
export const MAX_LISTED_APPLICATIONS = 10_000;

export const accountsRpc = {
  findApplication: rpc(
    'accounts.findApplication',
    z.object({ appId: z.string().max(128) }),
    z.object({ application: application.nullable() }),
  ),
  /** The ids of applications, the newest first, 10,000 at most. */
  listApplicationIds: rpc(
    'accounts.listApplicationIds',
    z.object({}),
    z.object({ appIds: z.array(z.string()).max(MAX_LISTED_APPLICATIONS) }),
  ),
  signUp: rpc('accounts.signUp', z.object({ caller, fields: jsonObject }), enteredUser, PASSWORD_TIMEOUT_MS),
  /** What a sign-up with `authData` means once it is proven. `isNew`: nobody had any of the identities. */
  signUpOrLogInByIdentity: rpc(
    'accounts.signUpOrLogInByIdentity',
    z.object({
      caller,
      fields: jsonObject,
      identities: z.array(identity).min(1).max(MAX_IDENTITIES),
      failOnNotExist: z.boolean(),
    }),
    enteredUser,
    PASSWORD_TIMEOUT_MS,
  ),
  logIn: rpc(
    'accounts.logIn',
    z.object({ caller, credentials: jsonObject }),
    z.object({ user: visibleUser }),
    PASSWORD_TIMEOUT_MS,
  ),
  getUser: rpc('accounts.getUser', objectReadOptions.extend({ caller, objectId }), z.object({ user: visibleUser })),
  getCurrentUser: rpc('accounts.getCurrentUser', z.object({ caller }), z.object({ user: visibleUser })),
  updateUser: rpc(
    'accounts.updateUser',
    objectWriteOptions.extend({ caller, objectId, changes: jsonObject, identities: identityChanges.optional() }),
    z.object({ result: jsonObject }),
    PASSWORD_TIMEOUT_MS,
  ),
  updatePassword: rpc(
    'accounts.updatePassword',
    z.object({ caller, objectId, passwords: jsonObject }),
    z.object({ result: jsonObject }),
    PASSWORD_TIMEOUT_MS,
  ),
  refreshSessionToken: rpc(
    'accounts.refreshSessionToken',
    z.object({ caller, objectId }),
    z.object({ user: visibleUser }),
  ),
  /** Whose session the caller's is, and which roles that user has. A session that nobody has is nobody's. */
  resolvePrincipal: rpc('accounts.resolvePrincipal', z.object({ caller }), z.object({ principal })),
  removeUsers: rpc('accounts.removeUsers', objectRemoval, z.object({})),
};

const appKey = z.string().regex(/^[A-Za-z0-9_-]{8,64}$/, 'must be 8 to 64 letters, digits, _ or -');
/** Ten years. */
const MAX_KEEP_OLD_SECONDS = 315_360_000;
const appName = z.string().regex(/^[^\p{Cc}]{1,100}$/u, 'must be 1 to 100 characters');

/** What operators ask; reachable over the broker and over standalone's socket only, never over HTTP. */
export const applicationsRpc = {
  create: rpc(
    'accounts.createApplication',
    z.object({ name: appName, id: appId.optional(), appKey: appKey.optional(), masterKey: appKey.optional() }),
    z.object({ application }),
  ),
  list: rpc('accounts.listApplications', z.object({}), z.object({ applications: z.array(application) })),
  get: rpc('accounts.getApplication', z.object({ id: appId }), z.object({ application })),
  changeSetting: rpc(
    'accounts.changeApplicationSetting',
    z.object({ id: appId, name: z.string().max(100), value: z.string().max(10_000) }),
    z.object({ settings: applicationSettings }),
  ),
  changePermission: rpc(
    'accounts.changeClassPermission',
    z.object({
      id: appId,
      className: z.enum(CLASS_NAMES),
      operations: z.array(z.enum(CLASS_OPERATIONS)).min(1),
      permission: classPermission,
    }),
    z.object({ application }),
  ),
  rotateKeys: rpc(
    'accounts.rotateApplicationKeys',
    z.object({
      id: appId,
      appKey: z.boolean(),
      masterKey: z.boolean(),
      /** How long the old keys let requests in, in seconds; null: until they are revoked; absent: not at all. */
      keepOldSeconds: z.number().int().min(1).max(MAX_KEEP_OLD_SECONDS).nullable().optional(),
    }),
    z.object({ application }),
  ),
  /** Ends all old keys of these kinds. */
  revokeOldKeys: rpc(
    'accounts.revokeOldApplicationKeys',
    z.object({ id: appId, appKey: z.boolean(), masterKey: z.boolean() }),
    z.object({ application }),
  ),
};

/** Which platforms the users of an application have accounts of; operators ask. */
export const identitiesRpc = {
  count: rpc(
    'accounts.countIdentities',
    z.object({ appId }),
    z.object({
      platforms: z.array(
        z.object({
          platform: platformName,
          kind: platformKind.optional(),
          verified: z.number().int(),
          unverified: z.number().int(),
        }),
      ),
    }),
  ),
};

const MAX_NAME_LENGTH = 255;

const lockedUser = z.object({
  userId: objectId,
  /** Null where no user has the id: names that nobody has can be locked too. */
  username: z.string().nullable(),
  lockedUntil: z.iso.datetime(),
});

export type LockedUser = z.output<typeof lockedUser>;

/** What operators ask about the lockout, by the same ways as `applicationsRpc`. Nothing here unlocks. */
export const lockoutsRpc = {
  /** In the order in which the locks end. `after`: the last one of the page before. */
  list: rpc(
    'accounts.listLockouts',
    z.object({
      appId,
      limit: z.number().int().min(1).max(MAX_LIST_LIMIT),
      after: lockedUser.pick({ userId: true, lockedUntil: true }).optional(),
    }),
    z.object({ lockedUsers: z.array(lockedUser) }),
  ),
  /** `user`: an id or a username. `failures`: those that count now. */
  get: rpc(
    'accounts.getLockout',
    z.object({ appId, user: z.string().min(1).max(MAX_NAME_LENGTH) }),
    z.object({
      userId: objectId,
      username: z.string(),
      lockedUntil: z.iso.datetime().nullable(),
      failures: z.number().int(),
    }),
  ),
};

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

/** As it stands in a path: what is no code is refused with an error of its own. */
const code = z.string().max(1024);
const request = z.object({ caller, body: jsonObject });
/** What belongs to phone numbers and the codes that are sent to them. */
export const phoneNumbersRpc = {
  requestCode: rpc('accounts.requestSmsCode', request, nothing),
  verifyCode: rpc('accounts.verifySmsCode', request.extend({ code }), nothing),
  requestLoginCode: rpc('accounts.requestLoginSmsCode', request, nothing),
  /** Signs up where nobody has the number. */
  enter: rpc(
    'accounts.signUpOrLogInByPhone',
    request,
    z.object({ user: visibleUser, isNew: z.boolean() }),
    PASSWORD_TIMEOUT_MS,
  ),
  requestVerification: rpc('accounts.requestPhoneVerification', request, nothing),
  verify: rpc('accounts.verifyPhone', request.extend({ code }), z.object({ result: jsonObject })),
  requestPasswordReset: rpc('accounts.requestPasswordResetBySms', request, nothing),
  resetPassword: rpc('accounts.resetPasswordBySms', request.extend({ code }), nothing, PASSWORD_TIMEOUT_MS),
  requestChange: rpc('accounts.requestPhoneChange', request, nothing),
  change: rpc('accounts.changePhone', request, nothing),
};
