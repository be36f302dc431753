import { z } from 'zod';
import { appId, count, ofApp, route, time, total, undo } from './route.js';

const listedApplication = z.object({ id: appId, name: z.string(), createdAt: time });

/** The kind of a setting's form field. `list` and `object` are JSON texts. */
export const SETTING_KINDS = ['flag', 'text', 'list', 'object'] as const;

const setting = z.object({
  name: z.string(),
  kind: z.enum(SETTING_KINDS),
  /** The text that `changeSetting` takes. */
  value: z.string(),
  isDefault: z.boolean(),
  /** In English; the page has texts of its own for settings that it knows. */
  description: z.string(),
});

/** A secret setting: its value is never shown. */
const secretSetting = z.object({ name: z.string(), isSet: z.boolean(), description: z.string() });

const oldKey = z.object({
  kind: z.enum(['app', 'master']),
  replacedAt: time,
  /** Null: until it is revoked. */
  acceptedUntil: time.nullable(),
});

export const CLASS_NAMES = ['_User', '_Role', '_Installation'] as const;
export const CLASS_OPERATIONS = ['find', 'get', 'create', 'update', 'delete'] as const;

/** `everyone`, `users` (logged in), or user ids and `role:<name>`; an empty list: the master key only. */
const classPermission = z.union([z.enum(['everyone', 'users']), z.array(z.string().max(200)).max(100)]);
const permissionsOfClass = z.object({
  find: classPermission,
  get: classPermission,
  create: classPermission,
  update: classPermission,
  delete: classPermission,
});

const application = listedApplication.extend({
  /** Public: apps contain it. */
  appKey: z.string(),
  /** A keyed hash of the master key, which is never shown here. */
  masterKeyId: z.string(),
  masterKeyCommand: z.string(),
  oldKeys: z.array(oldKey),
  settings: z.array(setting),
  secretSettings: z.array(secretSetting),
  classPermissions: z.object({
    _User: permissionsOfClass,
    _Role: permissionsOfClass,
    _Installation: permissionsOfClass,
  }),
  apiUrl: z.string(),
});

export type ApplicationDetails = z.output<typeof application>;

const oneApplication = z.object({ application });
const keyKinds = z.strictObject({ appKey: z.boolean(), masterKey: z.boolean() });

/** Null where the service does not answer; `unavailable` names it. */
const overview = z.object({
  /** `lastDay`: created in the last 24 hours. `locked`: users and names that are locked out now. */
  users: z.object({ total, lastDay: total, locked: total }).nullable(),
  /** `connected`: sockets. `platforms`: installations. */
  devices: z.object({ connected: count, platforms: z.record(z.string(), count) }).nullable(),
  /** Of the last 24 hours. */
  messages: z.object({ sent: total, dead: total }).nullable(),
  pushes: z
    .object({
      underWay: z.array(z.object({ objectId: z.string(), createdAt: time, title: z.string() })),
      scheduled: count,
    })
    .nullable(),
  /** Platforms on which users have accounts that no credentials have verified. */
  unverifiedPlatforms: z.array(z.object({ platform: z.string(), accounts: count })),
  unavailable: z.array(z.string()),
});

export type Overview = z.output<typeof overview>;

/** Days that `getSeries` shows, today included. */
export const SERIES_DAYS = 30;
/** Records of pushes are kept for a week. */
export const PUSH_SERIES_DAYS = 7;
/** Hours of the connected devices, this one included. */
export const CONNECTED_HOURS = 168;
const perDay = z.array(count);

/** Null where the service does not answer in time. */
const series = z.object({
  /** Days of UTC, the oldest first; the last one is today. */
  days: z.array(z.iso.date()),
  /** Deleted users are left out of the sign-ups. A server that crashes loses the logins of its last seconds. */
  users: z.object({ signUps: perDay, logins: perDay }).nullable(),
  /** By the day on which a message was queued. `dead`: refused for good. */
  messages: z.object({ sent: perDay, dead: perDay }).nullable(),
  /** Of the last `PUSH_SERIES_DAYS` days. Once for each device, by the day of the push; vendors' channels are left out. */
  pushes: z.object({ queued: perDay, acknowledged: perDay }).nullable(),
  /** The most devices connected at once. Null where they were not counted. */
  connected: z
    .object({
      byDay: z.array(count.nullable()),
      /** Hours of UTC, the oldest first; the last one is now. */
      hours: z.array(time),
      byHour: z.array(count.nullable()),
    })
    .nullable(),
});

export type Series = z.output<typeof series>;

export const applicationsApi = {
  /** The applications of the operator's grants, newest first. */
  listApplications: route({
    method: 'GET',
    path: '/apps',
    access: 'operator',
    reply: z.object({ items: z.array(listedApplication) }),
  }),
  createApplication: route({
    method: 'POST',
    path: '/apps',
    access: 'apps.create',
    body: z.strictObject({
      name: z.string().regex(/^[^\p{Cc}]{1,100}$/u, 'must be 1 to 100 characters'),
      id: appId.optional(),
    }),
    reply: oneApplication,
  }),
  getApplication: route({
    method: 'GET',
    path: '/apps/:appId',
    access: 'settings.read',
    params: ofApp,
    reply: oneApplication,
  }),
  getOverview: route({
    method: 'GET',
    path: '/apps/:appId/overview',
    access: 'settings.read',
    isShared: true,
    params: ofApp,
    reply: overview,
  }),
  getSeries: route({
    method: 'GET',
    path: '/apps/:appId/series',
    access: 'settings.read',
    isShared: true,
    params: ofApp,
    reply: series,
  }),
  /** Also a secret one. Fails with INCORRECT_TYPE and what the value must be, or with NO_EFFECT where the stored value is not `former`. */
  changeSetting: route({
    method: 'PUT',
    path: '/apps/:appId/settings/:name',
    access: 'settings.write',
    // Test numbers, pages of links and the target of forwarded requests can give control of the accounts of users.
    needsProof: true,
    params: ofApp.extend({ name: z.string().regex(/^[A-Za-z]{1,60}$/) }),
    body: z.strictObject({ value: z.string().max(10_000), former: z.string().max(10_000).optional() }),
    reply: oneApplication.extend({ undo }),
  }),
  rotateKeys: route({
    method: 'POST',
    path: '/apps/:appId/keys/rotate',
    access: 'keys.rotate',
    needsProof: true,
    params: ofApp,
    body: keyKinds.extend({
      /** How long the old keys stay valid, in seconds; null: until they are revoked; absent: they end at once. */
      keepOldSeconds: z.number().int().min(1).max(315_360_000).nullable().optional(),
    }),
    reply: oneApplication,
  }),
  revokeOldKeys: route({
    method: 'POST',
    path: '/apps/:appId/keys/revoke-old',
    access: 'keys.rotate',
    needsProof: true,
    params: ofApp,
    body: keyKinds,
    reply: oneApplication,
  }),
  /** Fails with NO_EFFECT where one of the stored permissions is not `former`. */
  changeClassPermission: route({
    method: 'PUT',
    path: '/apps/:appId/class-permissions/:className',
    access: 'permissions.write',
    // Open permissions expose all users.
    needsProof: true,
    params: ofApp.extend({ className: z.enum(CLASS_NAMES) }),
    body: z.strictObject({
      operations: z.array(z.enum(CLASS_OPERATIONS)).min(1),
      permission: classPermission,
      former: classPermission.optional(),
    }),
    reply: oneApplication.extend({ undo }),
  }),
};
