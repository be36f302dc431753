import { z } from 'zod';
import { appId, application, applicationSettings } from './application.schema.js';
import { caller } from './caller.schema.js';
import { identity, identityChanges, MAX_IDENTITIES } from './identity.schema.js';
import { CLASS_NAMES, CLASS_OPERATIONS, classPermission } from './class-permissions.schema.js';
import { jsonObject } from './json.schema.js';
import { objectId, objectReadOptions, objectRemoval, objectWriteOptions } from './objects.contract.js';
import { principal } from './principal.schema.js';
import { PASSWORD_TIMEOUT_MS, rpc } from './rpc.js';
import { visibleUser } from './visible-user.schema.js';

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
