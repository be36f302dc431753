import { z } from 'zod';
import { appId } from './application.schema.js';
import {
  type CredentialField,
  credentialFieldsOf,
  credentialSecret,
  credentialText,
  givenCredentials,
} from './caller.schema.js';
import { rpc } from './message-kinds.js';

const APPLE_ID = /^[A-Z0-9]{10}$/;
/** Bundle ids and their suffixes, such as `com.example.app.voip`. */
const TOPICS = /^[A-Za-z0-9.-]+(?: *, *[A-Za-z0-9.-]+)*$/;

/**
 * Credentials of an application for the push services of vendors, by vendor. A field with `isSecret` in its metadata is never shown
 * again (docs/vendors).
 */
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
} as const;

/** A push service of a vendor that Gatepost sends through. */
export type Vendor = keyof typeof VENDOR_CREDENTIALS;

export const VENDORS = Object.keys(VENDOR_CREDENTIALS) as [Vendor, ...Vendor[]];

export type VendorCredentials<Name extends Vendor = Vendor> = z.output<(typeof VENDOR_CREDENTIALS)[Name]>;

/** The fields of a vendor's credentials. */
export function vendorFields(vendor: Vendor): CredentialField[] {
  return credentialFieldsOf(VENDOR_CREDENTIALS[vendor]);
}

/** The profile of installations without `deviceProfile`. */
export const DEFAULT_PROFILE = '_default';

const vendor = z.enum(VENDORS);
/** A set of credentials; installations name it in `deviceProfile`. */
const profile = z.string().regex(/^(?:_default|[A-Za-z][A-Za-z0-9_]{0,63})$/, 'must be letters, digits and _');
/** Distinguishes credentials of one vendor and profile: the team id of APNs, else empty. */
const part = z.string().max(64);
const key = z.object({ vendor, profile, part });

/** Credentials as operators see them. */
const shownVendor = key.extend({
  /** The fields that are not secret. */
  shown: z.record(z.string(), z.string()),
  /** Names of the secret fields that are set. */
  secrets: z.array(z.string()),
});

export type ShownVendor = z.output<typeof shownVendor>;

/** A check signs in at the vendor, whose time limit is 10 seconds. */
const CHECK_TIMEOUT_MS = 30_000;

/** RPCs for operators about an application's vendor channels, available like `applicationsRpc`. */
export const vendorsRpc = {
  /** Replaces the credentials of the vendor, profile and team. `fields`: as `VENDOR_CREDENTIALS` defines. */
  set: rpc(
    'push-delivery.setVendorCredentials',
    z.object({ appId, vendor, profile, fields: givenCredentials }),
    z.object({ credentials: shownVendor }),
  ),
  /** Fails with NOT_FOUND. */
  remove: rpc('push-delivery.removeVendorCredentials', key.extend({ appId }), z.object({})),
  list: rpc('push-delivery.listVendorCredentials', z.object({ appId }), z.object({ vendors: z.array(shownVendor) })),
  /** Signs in at the vendor without sending to a device. `problem`: null where the credentials work. Fails with NOT_FOUND. */
  check: rpc(
    'push-delivery.checkVendorCredentials',
    key.extend({ appId }),
    z.object({ problem: z.string().nullable() }),
    CHECK_TIMEOUT_MS,
  ),
  /** Sends one message to one token. Fails with NOT_FOUND. */
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
