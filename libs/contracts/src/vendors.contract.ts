import { z } from 'zod';
import { appId } from './application.schema.js';
import {
  type CredentialField,
  credentialFieldsOf,
  credentialSecret,
  credentialText,
  givenCredentials,
  rpc,
} from './messages.schema.js';

const APPLE_ID = /^[A-Z0-9]{10}$/;
/** Bundle ids and their suffixes, such as `com.example.app.voip`. */
const TOPICS = /^[A-Za-z0-9.-]+(?: *, *[A-Za-z0-9.-]+)*$/;

const vendorId = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,100}$/, 'must be letters and digits, as the console of the vendor shows it');
const host = z.string().regex(/^[A-Za-z0-9.-]{1,255}$/, 'must be a host name such as cn.leancloud.push');
const category = z.string().regex(/^[A-Z_]{1,40}$/, 'must be a class such as WORK');
const packageName = z.string().regex(/^[A-Za-z0-9_.]{1,255}$/, 'must be a package name such as com.example.app');
const title = credentialText(50)
  .optional()
  .describe('Title of pushes without one; unset: the name of the application.');

/** A field with `isSecret` in its metadata is never shown again (docs/vendors). */
export const VENDOR_CREDENTIALS = {
  apns: z.strictObject({
    teamId: z
      .string()
      .regex(
        APPLE_ID,
        'must be the 10 capital letters and digits of the team (developer.apple.com, Membership details)',
      )
      .describe('Team ID. An application can have credentials of several teams.'),
    keyId: z
      .string()
      .regex(APPLE_ID, 'must be the 10 capital letters and digits of the key (developer.apple.com, Keys)')
      .describe('Key ID of the .p8 file.'),
    topics: credentialText(2_048)
      .regex(TOPICS, 'must be bundle ids such as com.example.app, separated by commas')
      .describe('Bundle ids of the apps, separated by commas.'),
    privateKey: credentialSecret.describe('The .p8 file.'),
  }),
  fcm: z.strictObject({
    serviceAccount: credentialSecret.describe(
      'The JSON file of the service account (Firebase console, Service accounts).',
    ),
  }),
  huawei: z.strictObject({
    appId: vendorId,
    appSecret: credentialSecret,
    intentHost: host.optional().describe('"Android Intent Hostname" of the app; unset: cn.leancloud.push.'),
    category: category.optional().describe('Class of the messages that the console permits, such as WORK.'),
    title,
  }),
  honor: z.strictObject({
    appId: vendorId,
    clientId: vendorId,
    clientSecret: credentialSecret,
    intentHost: host.optional().describe('"Android Intent Hostname" of the app; unset: cn.leancloud.push.'),
    title,
  }),
  xiaomi: z.strictObject({
    packageName: packageName.describe('Name of the app package.'),
    appSecret: credentialSecret,
    region: z
      .string()
      .regex(/^(?:cn|global|ru|in|eu)$/, 'must be cn, global, ru, in or eu')
      .optional()
      .describe('Where the devices are: cn, global, ru, in or eu; unset: cn.'),
    channelId: credentialText(100).optional().describe('Message class (channel) of the console.'),
    title,
  }),
  oppo: z.strictObject({
    appKey: vendorId,
    masterSecret: credentialSecret.describe('The master secret, not the app secret.'),
    channelId: credentialText(100).optional().describe('Message class (channel) of the console.'),
    title,
  }),
  vivo: z.strictObject({
    appId: vendorId,
    appKey: vendorId,
    appSecret: credentialSecret,
    category: category.optional().describe('Class of system messages; unset: marketing messages.'),
    title,
  }),
  'web-push': z.strictObject({
    subject: credentialText(255)
      .regex(
        /^(?:mailto:[^\s<>@]+@[^\s<>@]+|https:\/\/\S+)$/,
        'must be an address such as mailto:ops@example.org or https://example.org',
      )
      .describe('Address at which push services of browsers reach you: mailto: or https:.'),
    privateKey: credentialSecret
      .optional()
      .describe('Private VAPID key (base64url); unset: the key stays, or a new one is generated.'),
  }),
  meizu: z.strictObject({ appId: vendorId, appSecret: credentialSecret, title }),
} as const;

export type Vendor = keyof typeof VENDOR_CREDENTIALS;

export const VENDORS = Object.keys(VENDOR_CREDENTIALS) as [Vendor, ...Vendor[]];

export type VendorCredentials<Name extends Vendor = Vendor> = z.output<(typeof VENDOR_CREDENTIALS)[Name]>;

export function vendorFields(vendor: Vendor): CredentialField[] {
  return credentialFieldsOf(VENDOR_CREDENTIALS[vendor]);
}

export const DEFAULT_PROFILE = '_default';

const vendor = z.enum(VENDORS);
/** A set of credentials; installations name it in `deviceProfile`. */
const profile = z.string().regex(/^(?:_default|[A-Za-z][A-Za-z0-9_]{0,63})$/, 'must be letters, digits and _');
/** Distinguishes credentials of one vendor and profile: the team id of APNs; `intl` for Xiaomi outside China; else empty. */
const part = z.string().max(64);
const key = z.object({ vendor, profile, part });

const shownVendor = key.extend({
  shown: z.record(z.string(), z.string()),
  secrets: z.array(z.string()),
});

export type ShownVendor = z.output<typeof shownVendor>;

const laneState = z.object({
  /** `<vendor>/<profile>/<part>/<dev or prod>` */
  lane: z.string(),
  isPaused: z.boolean(),
  /** The vendor calls so many tokens invalid that none is removed. */
  isDoubted: z.boolean(),
  /** The operator trusts it for the rest of an hour: no token is doubted. */
  isTrusted: z.boolean(),
  devices: z.number().int(),
  seconds: z.number(),
});

export type VendorLaneState = z.output<typeof laneState>;

/** A check signs in at the vendor, whose time limit is 10 seconds. */
const CHECK_TIMEOUT_MS = 30_000;

export const vendorsRpc = {
  /** The vendor must accept them. `problem`: why the vendor could not be asked; null where it was, or where `isUnchecked`. */
  set: rpc(
    'push-delivery.setVendorCredentials',
    z.object({ appId, vendor, profile, fields: givenCredentials, isUnchecked: z.boolean().optional() }),
    z.object({ credentials: shownVendor, problem: z.string().nullish() }),
    CHECK_TIMEOUT_MS,
  ),
  /** `pause`: pushes wait until they expire. `trust`: for an hour all tokens that the vendor calls invalid count as dead. Fails with NOT_FOUND. */
  change: rpc(
    'push-delivery.changeVendorLanes',
    key.extend({ appId, change: z.enum(['pause', 'resume', 'trust']) }),
    z.object({}),
  ),
  listLanes: rpc(
    'push-delivery.listVendorLanes',
    z.object({ appId }),
    z.object({ lanes: z.array(laneState), senders: z.number().int() }),
  ),
  remove: rpc('push-delivery.removeVendorCredentials', key.extend({ appId }), z.object({})),
  list: rpc('push-delivery.listVendorCredentials', z.object({ appId }), z.object({ vendors: z.array(shownVendor) })),
  /** Signs in at the vendor without sending to a device. `problem`: null where the credentials work. Fails with NOT_FOUND. */
  check: rpc(
    'push-delivery.checkVendorCredentials',
    key.extend({ appId }),
    z.object({ problem: z.string().nullable() }),
    CHECK_TIMEOUT_MS,
  ),
  try: rpc(
    'push-delivery.tryVendorCredentials',
    key.extend({
      appId,
      token: z.string().min(1).max(1_024),
      alert: z.string().max(1_000),
      topic: z.string().max(255).optional(),
      prod: z.enum(['dev', 'prod']),
    }),
    z.object({ outcome: z.string(), reason: z.string().nullable() }),
    CHECK_TIMEOUT_MS,
  ),
};
