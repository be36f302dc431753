import { z } from 'zod';
import { type CredentialField, credentialFieldsOf, credentialSecret, credentialText } from './caller.schema.js';
import { jsonObject, type JsonObject } from './json.schema.js';

const id = credentialText(255);
const secret = credentialSecret;

/**
 * What an application must know to have accounts of a platform verified, by kind of platform. A field with `isSecret` in its
 * metadata is never shown again (docs/platforms.md).
 */
export const PLATFORM_CREDENTIALS = {
  weixin: z.strictObject({ appId: id }),
  weibo: z.strictObject({ appKey: id }),
  qq: z.strictObject({ appId: id }),
  taptap: z.strictObject({ clientId: id }),
  lc_apple: z.strictObject({
    clientId: id.regex(/[^,\s]/, 'must name an id').describe('Bundle or service ids, joined by commas.'),
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

/** A kind of platform that Gatepost knows: its accounts can be verified. Its name is the key in `authData`. */
export type PlatformKind = keyof typeof PLATFORM_CREDENTIALS;

export const PLATFORM_KINDS = Object.keys(PLATFORM_CREDENTIALS) as [PlatformKind, ...PlatformKind[]];

export type PlatformCredentials<Kind extends PlatformKind = PlatformKind> = z.output<
  (typeof PLATFORM_CREDENTIALS)[Kind]
>;

/** The fields of a kind's credentials. */
export function platformFields(kind: PlatformKind): CredentialField[] {
  return credentialFieldsOf(PLATFORM_CREDENTIALS[kind]);
}

/** Which platform gives out the union ids of a kind: mini programs share those of the platform that they run in. */
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

/** Platforms that one request may name. */
export const MAX_IDENTITIES = 20;
/** Of a user's id on a platform, in UTF-16 units. */
export const MAX_UID_LENGTH = 255;
/** The key in `authData` of users without a name. It is no platform's. */
export const ANONYMOUS_PLATFORM = 'anonymous';
const UNION_ID_ENTRY_PREFIX = '_';

/** The user's id on a platform. */
const uid = z.string().min(1).max(MAX_UID_LENGTH);

/** The same person's id over all apps of one developer (specification, Union-id login). */
const unionId = z.object({
  /** What the union id belongs to; names the entry `_<platform>_unionid`. */
  platform: platformName,
  uid,
  /** Only a main account creates that entry. */
  isMain: z.boolean(),
});

/** An account on a platform that a request has shown to be its sender's. */
export const identity = z.object({
  /** The key in `authData`. */
  platform: platformName,
  /** Absent: a platform that we do not know. */
  kind: platformKind.optional(),
  uid,
  /** The platform itself has confirmed it. */
  isVerified: z.boolean(),
  /** The value in `authData`: what the client sent, and what the platform added. */
  entry: jsonObject,
  unionId: unionId.optional(),
});

export type Identity = z.output<typeof identity>;

/** An account that the request has not shown to be its sender's: nothing to say against it where the user has it already. */
const unprovenIdentity = z.object({
  platform: platformName,
  uid: z.string().max(MAX_UID_LENGTH).optional(),
  /** The answer where the user does not have it. */
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

/** How an update changes what a user is linked to; platforms it does not name stay as they are. */
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

/** Whether a key of `authData` is a union id's: the server alone makes such entries. */
export function isUnionIdEntryName(platform: string): boolean {
  return platform.startsWith(UNION_ID_ENTRY_PREFIX);
}

/** A user as the asking party may see it, whichever fields it asked for. */
export type VisibleUser = JsonObject & { objectId: string; updatedAt: string };

/** Like `jsonObject` it looks at what is relied on only: a user may hold a megabyte of fields. */
export const visibleUser = z
  .custom<VisibleUser>(
    (value) =>
      typeof value === 'object' &&
      value !== null &&
      'objectId' in value &&
      'updatedAt' in value &&
      typeof value.objectId === 'string' &&
      typeof value.updatedAt === 'string',
    'must be a user',
  )
  .describe(
    'A JSON object that always holds the strings `objectId` and `updatedAt`. The rest: [the user object](api.md#the-user-object).',
  );
