import { z } from 'zod';
import { jsonObject } from './json.schema.js';
import { platformKind, platformName } from './platform.schema.js';

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
