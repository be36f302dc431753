import { z } from 'zod';
import {
  type CredentialField,
  credentialFieldsOf,
  credentialSecret,
  credentialText,
  type JsonObject,
  jsonObject,
} from './messages.schema.js';

const id = credentialText(255);

/** By kind of platform, what the verification of its accounts needs (docs/platforms.md). */
export const PLATFORM_CREDENTIALS = {
  weixin: z.strictObject({ appId: id }),
  weibo: z.strictObject({ appKey: id }),
  qq: z.strictObject({ appId: id }),
  taptap: z.strictObject({ clientId: id }),
  lc_apple: z.strictObject({
    clientId: id.regex(/[^,\s]/, 'must name an id').describe('Bundle or service ids, separated by commas.'),
    teamId: id.optional(),
    keyId: id.optional(),
    privateKey: credentialSecret.optional().describe('The .p8 file, for codes without an identity token.'),
  }),
  lc_weapp: z.strictObject({ appId: id, appSecret: credentialSecret }),
  lc_qqapp: z.strictObject({ appId: id, appSecret: credentialSecret }),
  lc_baidu: z.strictObject({ appKey: id, appSecret: credentialSecret }),
  lc_alipay: z.strictObject({ appId: id, privateKey: credentialSecret }),
  lc_tt: z.strictObject({ appId: id, appSecret: credentialSecret }),
} as const;

export type PlatformKind = keyof typeof PLATFORM_CREDENTIALS;

export const PLATFORM_KINDS = Object.keys(PLATFORM_CREDENTIALS) as [PlatformKind, ...PlatformKind[]];

export type PlatformCredentials<Kind extends PlatformKind = PlatformKind> = z.output<
  (typeof PLATFORM_CREDENTIALS)[Kind]
>;

export function platformFields(kind: PlatformKind): CredentialField[] {
  return credentialFieldsOf(PLATFORM_CREDENTIALS[kind]);
}

/** The platform that issues the union ids of a kind: mini programs share those of their host platform. */
export function unionIdFamily(kind: PlatformKind): PlatformKind {
  if (kind === 'lc_weapp') return 'weixin';
  return kind === 'lc_qqapp' ? 'qq' : kind;
}

export const platformKind = z.enum(PLATFORM_KINDS);

export const platformName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/, 'must be letters, digits and _');

export const MAX_IDENTITIES = 20;
export const MAX_UID_LENGTH = 255;
/** The key of anonymous users in `authData`. No platform has this name. */
export const ANONYMOUS_PLATFORM = 'anonymous';
const UNION_ID_ENTRY_PREFIX = '_';

const uid = z.string().min(1).max(MAX_UID_LENGTH);

/** The id that a user has across all apps of one developer (specification, Union-id login). */
const unionId = z.object({
  platform: platformName,
  uid,
  /** Only a main account creates that entry. */
  isMain: z.boolean(),
});

/** A platform account that the request has proven to belong to its sender. */
export const identity = z.object({
  platform: platformName,
  kind: platformKind.optional(),
  uid,
  isVerified: z.boolean(),
  /** The value in `authData`: the fields that the client sent, and those that the platform added. */
  entry: jsonObject,
  unionId: unionId.optional(),
});

export type Identity = z.output<typeof identity>;

/** The request has not proven that it belongs to its sender: accepted only where the user is already linked to it. */
const unprovenIdentity = z.object({
  platform: platformName,
  uid: z.string().max(MAX_UID_LENGTH).optional(),
  error: z.object({
    kind: z.literal('AppError'),
    name: z.string(),
    code: z.number().int(),
    status: z.number().int(),
    message: z.string(),
    retryAfterSeconds: z.number().optional(),
  }),
});

export type UnprovenIdentity = z.output<typeof unprovenIdentity>;

/** Changes to a user's linked accounts. Platforms that an update does not name keep their accounts. */
export const identityChanges = z.object({
  link: z.array(identity).max(MAX_IDENTITIES),
  unlink: z.array(platformName).max(MAX_IDENTITIES),
  unproven: z.array(unprovenIdentity).max(MAX_IDENTITIES),
});

export type IdentityChanges = z.output<typeof identityChanges>;

export function unionIdEntryName(platform: string): string {
  return `${UNION_ID_ENTRY_PREFIX}${platform}_unionid`;
}

/** Whether a key of `authData` is that of a union id; only the server creates such entries. */
export function isUnionIdEntryName(platform: string): boolean {
  return platform.startsWith(UNION_ID_ENTRY_PREFIX);
}

/** A user as the caller may see it, limited to the requested fields. */
export type VisibleUser = JsonObject & { objectId: string; updatedAt: string };

/** Like `jsonObject`, this schema checks only the members that other code relies on: a user may hold a megabyte of fields. */
export const visibleUser = z
  .custom<VisibleUser>(
    (value) =>
      typeof value === 'object' &&
      value !== null &&
      'objectId' in value &&
      'updatedAt' in value &&
      typeof value.objectId === 'string' &&
      typeof value.updatedAt === 'string',
    'must be a user object',
  )
  .describe(
    'A JSON object that always has the strings `objectId` and `updatedAt`. For the other members see [the user object](api.md#the-user-object).',
  );
