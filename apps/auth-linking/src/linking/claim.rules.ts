import {
  ANONYMOUS_PLATFORM,
  type JsonObject,
  type JsonValue,
  MAX_UID_LENGTH,
  PLATFORM_KINDS,
  type PlatformKind,
} from '#contracts';
import { appError } from '#errors';
import { isStorableText } from '#objects';
import type { Claim } from '../platforms/platform-verifier.types.js';

/** Which member of an entry is its id. Mini programs send a code; what they are linked to has both names of the id. */
const ID_MEMBERS: Readonly<Record<PlatformKind, 'openid' | 'uid' | 'either'>> = {
  weixin: 'openid',
  weibo: 'uid',
  qq: 'openid',
  taptap: 'openid',
  lc_apple: 'uid',
  lc_weapp: 'either',
  lc_qqapp: 'either',
  lc_baidu: 'either',
  lc_alipay: 'either',
  lc_tt: 'either',
};

/**
 * A random UUID (specification, authData): SDKs write it with hyphens or without. A shorter id can be guessed, or chosen by
 * several devices, and each request with it logs in the same user. Two spellings of one UUID are two ids.
 */
const ANONYMOUS_ID = /^(?:[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i;

/** One entry of `authData` as far as it can be read without asking anybody. */
export interface ReadClaim extends Claim {
  /** Undefined: a platform that we do not know, or `anonymous`. */
  readonly kind: PlatformKind | undefined;
}

/**
 * Reads who an entry says that its sender is.
 * @param configuredKind what an operator has said that the key is: a client cannot say otherwise
 * @throws AppError INVALID_IDENTITY where the id is none
 */
export function readClaim(platform: string, entry: JsonObject, configuredKind?: PlatformKind): ReadClaim {
  const kind = configuredKind ?? kindOf(platform, entry);
  return { platform, kind, entry, uid: parseUid(platform, readUid(platform, kind, entry)) };
}

/** A key of our own list, or one of the application's own whose `platform` names one of the list (decisions). */
function kindOf(platform: string, entry: JsonObject): PlatformKind | undefined {
  const named = platform === ANONYMOUS_PLATFORM ? undefined : entry['platform'];
  return [platform, named]
    .map((name) => PLATFORM_KINDS.find((kind) => kind === name))
    .find((kind) => kind !== undefined);
}

/** Decisions, the id of an entry. */
function readUid(platform: string, kind: PlatformKind | undefined, entry: JsonObject): JsonValue | undefined {
  const { uid, openid, id } = entry;
  if (platform === ANONYMOUS_PLATFORM) return id;
  if (kind === undefined || ID_MEMBERS[kind] === 'uid') return uid;
  return ID_MEMBERS[kind] === 'openid' && platform === kind ? openid : (uid ?? openid);
}

/** Some SDKs send the ids of some platforms as numbers. Anything else that is no text is nobody's id. */
function parseUid(platform: string, value: JsonValue | undefined): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value);
  if (!isUid(value))
    throw appError('INVALID_IDENTITY', {
      message: `Invalid authData of ${platform}: the id must be a text of 1 to ${MAX_UID_LENGTH} characters, not all of them blanks.`,
    });
  return value;
}

/** What can be an id or a union id on a platform. */
export function isUid(value: JsonValue): value is string {
  return typeof value === 'string' && value.trim() !== '' && value.length <= MAX_UID_LENGTH && isStorableText(value);
}

/** @throws AppError INVALID_IDENTITY where the id of an anonymous user is no UUID */
export function assertUnguessable({ platform }: Claim, uid: string): void {
  if (platform === ANONYMOUS_PLATFORM && !ANONYMOUS_ID.test(uid))
    throw appError('INVALID_IDENTITY', {
      message:
        'Invalid authData of anonymous: the id must be a random UUID, 32 hexadecimal digits with or without hyphens.',
    });
}
