import { type JsonObject, type JsonValue, MAX_IDENTITIES, platformName } from '#contracts';
import { type AppError, appError } from '#errors';
import { invalidFieldName, isDelete, isJsonObject, isOperation, reachesPrototype } from '#objects';

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
