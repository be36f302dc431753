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
const secret = credentialSecret;

/**
 * Credentials that the verification of a platform's accounts needs, by kind of platform. A field with `isSecret` in its metadata is never
 * shown again (docs/platforms.md).
 */
export const PLATFORM_CREDENTIALS = {
  weixin: z.strictObject({ appId: id }),
  weibo: z.strictObject({ appKey: id }),
  qq: z.strictObject({ appId: id }),
  taptap: z.strictObject({ clientId: id }),
  lc_apple: z.strictObject({
    clientId: id.regex(/[^,\s]/, 'must name an id').describe('Bundle or service ids, separated by commas.'),
    teamId: id.optional(),
    keyId: id.optional(),
    privateKey: secret.optional().describe('The .p8 file, for codes without an identity token.'),
  }),
  lc_weapp: z.strictObject({ appId: id, appSecret: secret }),
  lc_qqapp: z.strictObject({ appId: id, appSecret: secret }),
  lc_baidu: z.strictObject({ appKey: id, appSecret: secret }),
  lc_alipay: z.strictObject({ appId: id, privateKey: secret }),
  lc_tt: z.strictObject({ appId: id, appSecret: secret }),
} as const;

/** A kind of platform whose accounts Gatepost can verify. Its name is the key in `authData`. */
export type PlatformKind = keyof typeof PLATFORM_CREDENTIALS;

export const PLATFORM_KINDS = Object.keys(PLATFORM_CREDENTIALS) as [PlatformKind, ...PlatformKind[]];

export type PlatformCredentials<Kind extends PlatformKind = PlatformKind> = z.output<
  (typeof PLATFORM_CREDENTIALS)[Kind]
>;

/** The fields of a kind's credentials. */
export function platformFields(kind: PlatformKind): CredentialField[] {
  return credentialFieldsOf(PLATFORM_CREDENTIALS[kind]);
}

/** The platform that issues the union ids of a kind: mini programs share those of their host platform. */
export function unionIdFamily(kind: PlatformKind): PlatformKind {
  return UNION_ID_FAMILIES.get(kind) ?? kind;
}

const UNION_ID_FAMILIES: ReadonlyMap<PlatformKind, PlatformKind> = new Map([
  ['lc_weapp', 'weixin'],
  ['lc_qqapp', 'qq'],
]);

export const platformKind = z.enum(PLATFORM_KINDS);

/** A key of `authData`: letters, digits and underscores. */
export const platformName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/, 'must be letters, digits and _');

/** Maximum number of platforms in one request. */
export const MAX_IDENTITIES = 20;
/** Maximum length of a user's id on a platform, in UTF-16 units. */
export const MAX_UID_LENGTH = 255;
/** The key of anonymous users in `authData`. No platform has this name. */
export const ANONYMOUS_PLATFORM = 'anonymous';
const UNION_ID_ENTRY_PREFIX = '_';

/** The user's id on a platform. */
const uid = z.string().min(1).max(MAX_UID_LENGTH);

/** The id that a user has across all apps of one developer (specification, Union-id login). */
const unionId = z.object({
  /** The platform of the union id; part of the entry's name `_<platform>_unionid`. */
  platform: platformName,
  uid,
  /** Only a main account creates that entry. */
  isMain: z.boolean(),
});

/** A platform account that the request has proven to belong to its sender. */
export const identity = z.object({
  /** The key in `authData`. */
  platform: platformName,
  /** Absent: an unknown platform. */
  kind: platformKind.optional(),
  uid,
  /** The platform has confirmed the account. */
  isVerified: z.boolean(),
  /** The value in `authData`: the fields that the client sent, and those that the platform added. */
  entry: jsonObject,
  unionId: unionId.optional(),
});

export type Identity = z.output<typeof identity>;

/**
 * A platform account that the request has not proven to belong to its sender. It is accepted only where the user is already linked to it.
 */
const unprovenIdentity = z.object({
  platform: platformName,
  uid: z.string().max(MAX_UID_LENGTH).optional(),
  /** The error where the user is not linked to it. */
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

/** The key of a union id's entry in `authData`. */
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
