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
import { caller, jsonObject, PASSWORD_TIMEOUT_MS, principal, rpc } from './messages.schema.js';
import { MAX_LIST_LIMIT, objectId, objectReadOptions, objectsRpc, objectWriteOptions } from './objects.contract.js';
import { identity, identityChanges, MAX_IDENTITIES, platformKind, platformName, visibleUser } from './user.schema.js';

/** A user after sign-up or login. Replicas that predate third-party accounts only created users and omit `isNew`. */
const authenticatedUser = z.object({ user: visibleUser, isNew: z.boolean().default(true) });

export const MAX_LISTED_APPLICATIONS = 10_000;

export const accountsRpc = {
  findApplication: rpc(
    'accounts.findApplication',
    z.object({ appId: z.string().max(128) }),
    z.object({ application: application.nullable() }),
  ),
  listApplicationIds: rpc(
    'accounts.listApplicationIds',
    z.object({}),
    z.object({ appIds: z.array(z.string()).max(MAX_LISTED_APPLICATIONS) }),
  ),
  signUp: rpc('accounts.signUp', z.object({ caller, fields: jsonObject }), authenticatedUser, PASSWORD_TIMEOUT_MS),
  signUpOrLogInByIdentity: rpc(
    'accounts.signUpOrLogInByIdentity',
    z.object({
      caller,
      fields: jsonObject,
      identities: z.array(identity).min(1).max(MAX_IDENTITIES),
      failOnNotExist: z.boolean(),
    }),
    authenticatedUser,
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
  /** The principal of the caller's session token, with the user's roles. An unknown session token resolves to the anonymous principal. */
  resolvePrincipal: rpc('accounts.resolvePrincipal', z.object({ caller }), z.object({ principal })),
};

/** Timeout of a platform request (2.5 seconds) plus the longest timeout of accounts. */
const PROOF_TIMEOUT_MS = 13_000;

/** Requests whose body has `authData`: auth-linking proves the identities, then forwards the request to accounts, which replies. */
export const authLinkingRpc = {
  signUpOrLogIn: rpc(
    'auth-linking.signUpOrLogIn',
    z.object({ caller, fields: jsonObject, failOnNotExist: z.boolean() }),
    accountsRpc.signUpOrLogInByIdentity.reply,
    PROOF_TIMEOUT_MS,
  ),
  updateUser: rpc(
    'auth-linking.updateUser',
    accountsRpc.updateUser.request.omit({ identities: true }),
    accountsRpc.updateUser.reply,
    PROOF_TIMEOUT_MS,
  ),
  saveAll: rpc('auth-linking.saveAll', objectsRpc.saveAll.request, objectsRpc.saveAll.reply, PROOF_TIMEOUT_MS),
};

const appKey = z.string().regex(/^[A-Za-z0-9_-]{8,64}$/, 'must be 8 to 64 letters, digits, _ or -');
const MAX_KEEP_OLD_SECONDS = 315_360_000;
const appName = z.string().regex(/^[^\p{Cc}]{1,100}$/u, 'must be 1 to 100 characters');

/** RPCs for operators: available over the broker and the operator socket of the standalone server, never over HTTP. */
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
    /** `former`: the value that the caller has read. Fails with NO_EFFECT where another is stored. */
    z.object({
      id: appId,
      name: z.string().max(100),
      value: z.string().max(10_000),
      former: z.string().max(10_000).optional(),
    }),
    z.object({ settings: applicationSettings }),
  ),
  changePermission: rpc(
    'accounts.changeClassPermission',
    z.object({
      id: appId,
      className: z.enum(CLASS_NAMES),
      operations: z.array(z.enum(CLASS_OPERATIONS)).min(1),
      permission: classPermission,
      /** The permission that the caller has read for each operation. Fails with NO_EFFECT where another one is stored. */
      former: classPermission.optional(),
    }),
    z.object({ application }),
  ),
  rotateKeys: rpc(
    'accounts.rotateApplicationKeys',
    z.object({
      id: appId,
      appKey: z.boolean(),
      masterKey: z.boolean(),
      /** How long the old keys stay valid, in seconds; null: until they are revoked; absent: the old keys end at once. */
      keepOldSeconds: z.number().int().min(1).max(MAX_KEEP_OLD_SECONDS).nullable().optional(),
    }),
    z.object({ application }),
  ),
  revokeOldKeys: rpc(
    'accounts.revokeOldApplicationKeys',
    z.object({ id: appId, appKey: z.boolean(), masterKey: z.boolean() }),
    z.object({ application }),
  ),
};

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
  /** Null where no user has the id: names without a user can be locked, too. */
  username: z.string().nullable(),
  lockedUntil: z.iso.datetime(),
});

export type LockedUser = z.output<typeof lockedUser>;

/** The ways by which a secret that counts as a login comes in. `oldPassword`: a change of the password. */
export const LOGIN_METHODS = ['username', 'email', 'phone', 'oldPassword', 'code'] as const;

export type LoginMethod = (typeof LOGIN_METHODS)[number];

const failedLogin = z.object({
  at: z.iso.datetime(),
  /** Null where a version before 0.1.0 has counted the failure. */
  method: z.enum(LOGIN_METHODS).nullable(),
});

export type FailedLogin = z.output<typeof failedLogin>;

export const lockoutState = z.object({
  lockedUntil: z.iso.datetime().nullable(),
  lockedSince: z.iso.datetime().nullable().default(null),
  failures: z.number().int(),
  /** Those that count now or, under a lock, those that led to it. Oldest first, at most seven. */
  failedLogins: z.array(failedLogin).default([]),
});

/** RPCs for operators about the login lockout, available like `applicationsRpc`. No RPC unlocks a user. */
export const lockoutsRpc = {
  list: rpc(
    'accounts.listLockouts',
    z.object({
      appId,
      limit: z.number().int().min(1).max(MAX_LIST_LIMIT),
      after: lockedUser.pick({ userId: true, lockedUntil: true }).optional(),
    }),
    z.object({ lockedUsers: z.array(lockedUser) }),
  ),
  get: rpc(
    'accounts.getLockout',
    z.object({ appId, user: z.string().min(1).max(MAX_NAME_LENGTH) }),
    lockoutState.extend({ userId: objectId, username: z.string() }),
  ),
};

/** The token as the URL contains it. The service treats an invalid token as an expired one. */
const token = z.string().max(1024);
const kind = z.enum(MAIL_KINDS);
const nothing = z.object({});

/** `done`: the address is already verified. `expired`: where the names are null, the link may never have been valid. */
const mailLink = z.object({
  state: z.enum(['open', 'done', 'expired']),
  applicationName: z.string().nullable(),
  email: z.string().nullable(),
  username: z.string().nullable(),
  canBeRenewed: z.boolean(),
});

export type MailLink = z.output<typeof mailLink>;

/** RPCs about e-mail addresses and mailed links. The token alone identifies application and user. */
export const emailsRpc = {
  requestVerification: rpc('accounts.requestEmailVerification', z.object({ caller, body: jsonObject }), nothing),
  requestPasswordReset: rpc('accounts.requestPasswordReset', z.object({ caller, body: jsonObject }), nothing),
  inspectLink: rpc('accounts.inspectMailLink', z.object({ kind, token }), z.object({ link: mailLink })),
  renewLink: rpc('accounts.renewMailLink', z.object({ kind, token, languages }), nothing),
  /** `state` is `open` at the first call; at each later call it is `done`, and nothing changes. */
  verify: rpc('accounts.verifyEmail', z.object({ token }), z.object({ link: mailLink })),
  resetPassword: rpc(
    'accounts.resetPasswordByMail',
    z.object({ token, password: z.unknown() }),
    nothing,
    PASSWORD_TIMEOUT_MS,
  ),
};

const code = z.string().max(1024);
const request = z.object({ caller, body: jsonObject });
export const phoneNumbersRpc = {
  requestCode: rpc('accounts.requestSmsCode', request, nothing),
  verifyCode: rpc('accounts.verifySmsCode', request.extend({ code }), nothing),
  requestLoginCode: rpc('accounts.requestLoginSmsCode', request, nothing),
  signUpOrLogIn: rpc(
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
