import { z } from 'zod';
import {
  count,
  cursor,
  exportRoute,
  flag,
  json,
  limit,
  objectId,
  ofApp,
  pageOf,
  route,
  time,
  total,
  undo,
} from './route.js';

export const SEARCHED_FIELDS = ['any', 'username', 'email', 'phone', 'id'] as const;
export const USER_ORDERS = ['newest', 'oldest', 'username'] as const;

/** Masked for operators without the permission `users.contact`. */
const listedUser = z.object({
  objectId: z.string(),
  username: z.string().nullable(),
  email: z.string().nullable(),
  emailVerified: z.boolean(),
  mobilePhoneNumber: z.string().nullable(),
  mobilePhoneVerified: z.boolean(),
  platforms: z.array(z.string()),
  lockedUntil: time.nullable(),
  createdAt: time,
  updatedAt: time,
});

export type ListedUser = z.output<typeof listedUser>;

const linkedAccount = z.object({
  platform: z.string(),
  kind: z.string().nullable(),
  uid: z.string(),
  isVerified: z.boolean(),
});

/** `methods`: by what each wrong attempt named the user. */
const lock = z.object({
  lockedUntil: time.nullable(),
  lockedSince: time.nullable(),
  failures: count,
  failedAt: z.array(time),
  methods: z.array(z.string()),
});

const user = listedUser.extend({
  fields: json,
  ACL: json.nullable(),
  hasPassword: z.boolean(),
  /** Inherited ones included. */
  roles: z.array(z.string()),
  accounts: z.array(linkedAccount),
  lock,
});

export type UserDetails = z.output<typeof user>;

const oneUser = z.object({ user });
const ofUser = ofApp.extend({ userId: objectId });
const userIds = z.array(objectId).min(1).max(200);

const userFilters = z.object({
  /** At the beginning of the field, or within it (three characters at least). */
  text: z.string().max(254).optional(),
  in: z.enum(SEARCHED_FIELDS).default('any'),
  mode: z.enum(['prefix', 'contains']).default('prefix'),
  emailVerified: flag.optional(),
  phoneVerified: flag.optional(),
  hasPassword: flag.optional(),
  platform: z.string().max(64).optional(),
  createdFrom: time.optional(),
  createdTo: time.optional(),
  /** A condition of the REST API, as JSON. */
  where: z.string().max(10_000).optional(),
});

const listedRole = z.object({
  objectId: z.string(),
  name: z.string(),
  createdAt: time,
  updatedAt: time,
});

const role = listedRole.extend({
  ACL: json,
  /** Roles whose members are members of this role: the first 200. */
  roles: z.array(z.object({ objectId: z.string(), name: z.string() })),
});

export type RoleDetails = z.output<typeof role>;

const oneRole = z.object({ role });
const limitedClient = z.object({
  group: z.string(),
  network: z.string(),
  /** Refused requests included. */
  count,
  until: time,
});
const ofRole = ofApp.extend({ roleId: objectId });
const members = z.array(objectId).max(200).default([]);

export const usersApi = {
  listUsers: route({
    method: 'GET',
    path: '/apps/:appId/users',
    access: 'users.read',
    params: ofApp,
    query: userFilters.extend({ order: z.enum(USER_ORDERS).default('newest'), after: cursor.optional(), limit }),
    reply: pageOf(listedUser).extend({ total }),
  }),
  /** Newest first. `ids`: joined by commas, at most 200. */
  exportUsers: exportRoute({
    path: '/apps/:appId/users/export',
    access: 'users.export',
    params: ofApp,
    query: userFilters.extend({
      ids: z
        .string()
        .max(13_000)
        .transform((text) => text.split(','))
        .pipe(userIds)
        .optional(),
    }),
    row: listedUser.extend({ fields: json }),
    fileName: 'users',
  }),
  createUser: route({
    method: 'POST',
    path: '/apps/:appId/users',
    access: 'users.write',
    params: ofApp,
    body: z.strictObject({
      username: z.string().min(1).max(255),
      password: z.string().min(1).max(1_024),
      email: z.string().max(254).optional(),
      mobilePhoneNumber: z.string().max(32).optional(),
      fields: json.default({}),
    }),
    reply: oneUser,
  }),
  getUser: route({
    method: 'GET',
    path: '/apps/:appId/users/:userId',
    access: 'users.read',
    params: ofUser,
    reply: oneUser,
  }),
  /** A value sets, `{"__op":"Delete"}` removes. NO_EFFECT if the user has changed since `updatedAt`, or fields are not `former`. */
  changeUser: route({
    method: 'PATCH',
    path: '/apps/:appId/users/:userId',
    access: 'users.write',
    params: ofUser,
    body: z
      .strictObject({ updatedAt: time.optional(), former: json.optional(), changes: json })
      .refine(({ updatedAt, former = {} }) => (updatedAt === undefined) === Object.keys(former).length > 0, {
        error: 'must have either updatedAt or former',
      }),
    reply: oneUser.extend({ undo }),
  }),
  /** Each device of the user has to log in again. */
  endUserSession: route({
    method: 'POST',
    path: '/apps/:appId/users/:userId/end-session',
    access: 'users.write',
    params: ofUser,
    reply: z.object({}),
  }),
  sendVerification: route({
    method: 'POST',
    path: '/apps/:appId/users/:userId/send-verification',
    access: 'users.write',
    params: ofUser,
    reply: z.object({ recipient: z.string() }),
  }),
  /** By mail, or by text message for a user without an address. */
  sendPasswordReset: route({
    method: 'POST',
    path: '/apps/:appId/users/:userId/send-password-reset',
    access: 'users.write',
    params: ofUser,
    reply: z.object({ recipient: z.string(), channel: z.enum(['mail', 'sms']) }),
  }),
  unlinkAccount: route({
    method: 'POST',
    path: '/apps/:appId/users/:userId/unlink',
    access: 'users.acl',
    params: ofUser,
    body: z.strictObject({ platform: z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/) }),
    reply: oneUser,
  }),
  /** All of them or none. */
  deleteUsers: route({
    method: 'POST',
    path: '/apps/:appId/users/delete',
    access: 'users.delete',
    needsProof: true,
    params: ofApp,
    body: z.strictObject({ userIds }),
    reply: z.object({ deleted: count }),
  }),
  /** By the end of the lock. */
  listLockouts: route({
    method: 'GET',
    path: '/apps/:appId/lockouts',
    access: 'users.read',
    params: ofApp,
    query: z.object({ after: cursor.optional(), limit }),
    reply: pageOf(z.object({ userId: z.string(), username: z.string().nullable(), lockedUntil: time })),
  }),
  /** Clients whose requests are refused now, the latest windows first. Networks are masked without `users.contact`. */
  listLimitedClients: route({
    method: 'GET',
    path: '/apps/:appId/limited-clients',
    access: 'users.read',
    params: ofApp,
    query: z.object({ limit }),
    reply: z.object({ items: z.array(limitedClient) }),
  }),

  listRoles: route({
    method: 'GET',
    path: '/apps/:appId/roles',
    access: 'roles.read',
    params: ofApp,
    query: z.object({ text: z.string().max(128).optional(), after: cursor.optional(), limit }),
    reply: pageOf(listedRole),
  }),
  getRole: route({
    method: 'GET',
    path: '/apps/:appId/roles/:roleId',
    access: 'roles.read',
    params: ofRole,
    reply: oneRole,
  }),
  /** The users of the role, in the order of their ids. `text`: the beginning of a user name. */
  listRoleUsers: route({
    method: 'GET',
    path: '/apps/:appId/roles/:roleId/users',
    access: 'roles.read',
    params: ofRole,
    query: z.object({ text: z.string().max(254).optional(), after: cursor.optional(), limit }),
    reply: pageOf(z.object({ objectId: z.string(), username: z.string().nullable() })),
  }),
  createRole: route({
    method: 'POST',
    path: '/apps/:appId/roles',
    access: 'roles.write',
    params: ofApp,
    body: z.strictObject({
      name: z.string().regex(/^[A-Za-z0-9_]{1,128}$/, 'must be letters, digits and _'),
      ACL: json,
      users: members,
      roles: members,
    }),
    reply: oneRole,
  }),
  changeRole: route({
    method: 'PATCH',
    path: '/apps/:appId/roles/:roleId',
    access: 'roles.write',
    params: ofRole,
    body: z
      .strictObject({
        /** Of the role that was read: NO_EFFECT for an access list if the role has changed since. */
        updatedAt: time.optional(),
        /** NO_EFFECT if another access list is stored, if an added member is one already, or a removed member is none. */
        former: z.strictObject({ ACL: json.optional() }).optional(),
        ACL: json.optional(),
        addUsers: members,
        removeUsers: members,
        addRoles: members,
        removeRoles: members,
      })
      .refine(({ ACL, former }) => ACL === undefined || former === undefined || former.ACL !== undefined, {
        error: 'former must have the ACL too',
      }),
    reply: oneRole.extend({ undo }),
  }),
  deleteRole: route({
    method: 'DELETE',
    path: '/apps/:appId/roles/:roleId',
    access: 'roles.write',
    params: ofRole,
    reply: z.object({}),
  }),
};
