import {
  ANONYMOUS_PLATFORM,
  type Identity,
  type JsonObject,
  type JsonValue,
  MAX_IDENTITIES,
  MAX_UID_LENGTH,
  PLATFORM_KINDS,
  type PlatformKind,
  platformName,
  unionIdFamily,
} from '#contracts';
import { appError, type AppError } from '#errors';
import { invalidFieldName, isDelete, isJsonObject, isOperation, isStorableText, reachesPrototype } from '#objects';
import type { Claim, Proof } from '../platforms/platform.rules.js';

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
function isUid(value: JsonValue): value is string {
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

const PATH_PREFIX = 'authData.';
const MAX_ENTRY_BYTES = 16 * 1024;

/** What a request says of the user's accounts on other platforms. */
export interface AuthData {
  /** What it shows, by platform. */
  readonly entries: readonly (readonly [platform: string, entry: JsonObject])[];
  /** Platforms that it takes away. */
  readonly removed: readonly string[];
  /** The request's other fields. */
  readonly fields: JsonObject;
}

/**
 * Takes `authData` out of the fields of a user: the whole object, and paths such as `authData.weixin`. Both `null` and the
 * Delete operation take an entry away: SDKs send either.
 * @throws AppError INCORRECT_TYPE, INVALID_KEY_NAME, OBJECT_TOO_LARGE
 */
export function parseAuthData(body: JsonObject): AuthData {
  const { authData = null, ...others } = body;
  const byPath = Object.entries(others).filter(([key]) => key.startsWith(PATH_PREFIX));
  const named = [
    ...membersOf(authData),
    ...byPath.map(([key, value]): [string, JsonValue] => [key.slice(PATH_PREFIX.length), value]),
  ];
  assertNames(named.map(([platform]) => platform));
  return {
    entries: named
      .filter(([, value]) => !isRemoval(value))
      .map(([platform, value]) => [platform, parseEntry(platform, value)]),
    removed: named.filter(([, value]) => isRemoval(value)).map(([platform]) => platform),
    fields: Object.fromEntries(Object.entries(others).filter(([key]) => !key.startsWith(PATH_PREFIX))),
  };
}

function membersOf(authData: JsonValue): [string, JsonValue][] {
  if (authData === null) return [];
  if (!isJsonObject(authData) || isOperation(authData)) throw incorrect('must name platforms, each with an object.');
  return Object.entries(authData);
}

function assertNames(platforms: readonly string[]): void {
  for (const platform of platforms)
    if (!platformName.safeParse(platform).success || reachesPrototype(platform))
      throw invalidFieldName(`${PATH_PREFIX}${platform}`);
  const hasTwice = new Set(platforms).size < platforms.length;
  if (hasTwice) throw appError('INVALID_KEY_NAME', { message: 'authData names a platform twice.' });
  if (platforms.length > MAX_IDENTITIES) throw incorrect(`names more than ${MAX_IDENTITIES} platforms.`);
}

function isRemoval(value: JsonValue): boolean {
  return value === null || isDelete(value);
}

function parseEntry(platform: string, value: JsonValue): JsonObject {
  if (!isJsonObject(value) || isOperation(value)) throw incorrect(`${platform} must be an object.`);
  if (Buffer.byteLength(JSON.stringify(value)) > MAX_ENTRY_BYTES)
    throw appError('OBJECT_TOO_LARGE', { message: `authData: ${platform} is too large.` });
  return value;
}

function incorrect(message: string): AppError {
  return appError('INCORRECT_TYPE', { message: `authData: ${message}` });
}

const UNION_PLATFORM = /^[A-Za-z][A-Za-z0-9_]{0,54}$/;

/**
 * The union id that an entry carries. It counts only where the entry says what it belongs to (`platform`), and never for
 * platforms that we do not know (specification, Union-id login).
 * @param proof what the platform has confirmed: its word replaces the client's
 * @throws AppError INVALID_IDENTITY, INCORRECT_TYPE
 */
export function readUnionId(claim: ReadClaim, proof: Proof | undefined): Identity['unionId'] {
  const { platform, kind, entry } = claim;
  const { platform: belongsTo, main_account: isMain = false } = entry;
  const uid = proof === undefined ? entry['unionid'] : confirmed(claim, proof);
  if (kind === undefined || isMissing(belongsTo) || isMissing(uid)) return undefined;
  if (!isUid(uid))
    throw invalid(platform, `the union id must be a text of 1 to ${MAX_UID_LENGTH} characters, not all of them blanks`);
  return { platform: parseBelongsTo(platform, kind, belongsTo), uid, isMain: parseIsMain(platform, isMain) };
}

function isMissing(value: JsonValue | undefined): value is undefined | null | '' {
  return value === undefined || value === null || value === '';
}

function confirmed({ platform, entry }: ReadClaim, { unionId }: Proof): string | undefined {
  const claimed = entry['unionid'];
  if (!isMissing(claimed) && claimed !== unionId) throw invalid(platform, 'the platform does not confirm the union id');
  return unionId;
}

/** Another platform's name would lead to another platform's users. */
function parseBelongsTo(platform: string, kind: PlatformKind, value: JsonValue): string {
  if (typeof value !== 'string' || !UNION_PLATFORM.test(value) || reachesPrototype(value))
    throw appError('INCORRECT_TYPE', { message: `authData: ${platform}.platform must be letters, digits and _.` });
  const named = PLATFORM_KINDS.find((known) => known === value);
  if (named !== undefined && unionIdFamily(named) !== unionIdFamily(kind))
    throw invalid(platform, `it has no union ids of ${named}`);
  return value;
}

/** Given as true or false, or as these words (specification, Union-id login). */
function parseIsMain(platform: string, value: JsonValue): boolean {
  if (typeof value === 'boolean') return value;
  if (value === null || value === '') return false;
  if (value === 'true' || value === 'false') return value === 'true';
  throw appError('INCORRECT_TYPE', { message: `authData: ${platform}.main_account must be true or false.` });
}

function invalid(platform: string, reason: string): AppError {
  return appError('INVALID_IDENTITY', { message: `Invalid authData of ${platform}: ${reason}.` });
}
