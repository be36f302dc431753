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
import {
  invalidFieldName,
  isDelete,
  isJsonObject,
  isOperation,
  isUid,
  kindOfEntry,
  reachesPrototype,
  uidOfEntry,
} from '#objects';
import type { Claim, Proof } from '../platforms/platform.rules.js';

const PATH_PREFIX = 'authData.';
const MAX_ENTRY_BYTES = 16 * 1024;
const UID_FORM = `must be a string of 1 to ${MAX_UID_LENGTH} characters, not only whitespace`;

export interface AuthData {
  readonly entries: readonly (readonly [platform: string, entry: JsonObject])[];
  readonly removed: readonly string[];
  readonly fields: JsonObject;
}

/** `null` and the Delete operation remove an entry: SDKs send either. @throws AppError INCORRECT_TYPE, INVALID_KEY_NAME, OBJECT_TOO_LARGE */
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
  const invalidName = platforms.find((name) => !platformName.safeParse(name).success || reachesPrototype(name));
  if (invalidName !== undefined) throw invalidFieldName(`${PATH_PREFIX}${invalidName}`);
  if (new Set(platforms).size < platforms.length)
    throw appError('INVALID_KEY_NAME', { message: 'authData names a platform twice.' });
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

/** A random UUID (specification, authData): shorter ids can be guessed, or chosen by two devices. Two spellings of a UUID are two ids. */
const ANONYMOUS_ID = /^(?:[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i;

export interface ReadClaim extends Claim {
  /** Undefined for unknown platforms and `anonymous`. */
  readonly kind: PlatformKind | undefined;
}

/** @param configuredKind set by an operator for the key; overrides the client's. @throws AppError INVALID_IDENTITY if the id is invalid */
export function readClaim(platform: string, entry: JsonObject, configuredKind?: PlatformKind): ReadClaim {
  const kind = configuredKind ?? kindOfEntry(platform, entry);
  return { platform, kind, entry, uid: parseUid(platform, uidOfEntry(platform, kind, entry)) };
}

/** Some SDKs send the ids of some platforms as numbers. Values of other types are invalid. */
function parseUid(platform: string, value: JsonValue | undefined): string | undefined {
  if (isMissing(value)) return undefined;
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value);
  if (!isUid(value)) throw invalid(platform, `the id ${UID_FORM}`);
  return value;
}

export function assertUnguessable({ platform }: Claim, uid: string): void {
  if (platform === ANONYMOUS_PLATFORM && !ANONYMOUS_ID.test(uid))
    throw invalid(platform, 'the id must be a random UUID, 32 hexadecimal digits with or without hyphens');
}

const UNION_PLATFORM = /^[A-Za-z][A-Za-z0-9_]{0,54}$/;

/** Counts only with its known `platform` (specification, Union-id login). @throws AppError INVALID_IDENTITY, INCORRECT_TYPE */
export function readUnionId(claim: ReadClaim, proof: Proof | undefined): Identity['unionId'] {
  const { platform, kind, entry } = claim;
  const { platform: belongsTo, main_account: isMain = false } = entry;
  const uid = proof === undefined ? entry['unionid'] : confirmed(claim, proof);
  if (kind === undefined || isMissing(belongsTo) || isMissing(uid)) return undefined;
  if (!isUid(uid)) throw invalid(platform, `the union id ${UID_FORM}`);
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

/** A platform of another family is rejected, because it would open accounts of that platform's users. */
function parseBelongsTo(platform: string, kind: PlatformKind, value: JsonValue): string {
  if (typeof value !== 'string' || !UNION_PLATFORM.test(value) || reachesPrototype(value))
    throw incorrect(`${platform}.platform must be letters, digits and _.`);
  const named = PLATFORM_KINDS.find((known) => known === value);
  if (named !== undefined && unionIdFamily(named) !== unionIdFamily(kind))
    throw invalid(platform, `its union ids do not belong to ${named}`);
  return value;
}

/** A boolean, or one of these strings (specification, Union-id login). */
function parseIsMain(platform: string, value: JsonValue): boolean {
  if (typeof value === 'boolean') return value;
  if (value === null || value === '') return false;
  if (value === 'true' || value === 'false') return value === 'true';
  throw incorrect(`${platform}.main_account must be true or false.`);
}

function invalid(platform: string, reason: string): AppError {
  return appError('INVALID_IDENTITY', { message: `Invalid authData of ${platform}: ${reason}.` });
}
