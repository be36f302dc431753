import { type JsonObject, type JsonValue, PUSH_LIMITS } from '#contracts';
import { type AppError, appError } from '#errors';
import { isJsonObject, isStorableText } from '#objects';
import type { PushTarget } from '../pushes/push.row.js';
import { DEVICE_TYPE, parseChannels } from '#objects';

const MAX_DEVICE_ID_LENGTH = 256;
const SHORT_NAME = /^[A-Za-z0-9]{1,16}$/;

/** The conditions of `POST /1.1/push`. No condition selects all installations. @throws AppError INVALID_QUERY, INVALID_CHANNEL, NOT_SUPPORTED */
export function parseConditions({ where, channels, cql }: JsonObject): JsonObject[] {
  if (!isLeftOut(cql)) throw appError('NOT_SUPPORTED', { message: 'This server does not support cql. Use where.' });
  return [...parseWhereMember(where), ...parseChannelNames(channels)];
}

/** The conditions of `POST /1.1/push/devices`. @throws AppError KEY_REQUIRED, INCORRECT_TYPE */
export function parseDevices({ device_type: type, device_ids: ids, vendor }: JsonObject): JsonObject[] {
  if (isLeftOut(type) || isLeftOut(ids))
    throw appError('KEY_REQUIRED', { message: 'device_type and device_ids are required.' });
  if (typeof type !== 'string' || !DEVICE_TYPE.test(type)) throw incorrect('device_type must be a name such as ios.');
  return [{ deviceType: type, [idField(type, vendor)]: oneOf(parseDeviceIds(ids)) }];
}

/** The target as one `where`, for responses. */
export function shownWhere({ where, platforms }: PushTarget): JsonObject {
  const all = [...where, ...(platforms === undefined ? [] : [{ deviceType: { $in: [...platforms] } }])];
  const [only = {}] = all;
  return all.length > 1 ? { $and: all } : only;
}

/** Whether a request omits a member: SDKs send `null` for an omitted one. An empty string is a value, usually an invalid one. */
export function isLeftOut(value: JsonValue | undefined): value is undefined | null {
  return value === undefined || value === null;
}

/** The error for an invalid member of a push. */
export function incorrect(message: string): AppError {
  return appError('INCORRECT_TYPE', { message });
}

/** A name that applications give to a push: 1 to 16 letters and digits. @throws AppError INCORRECT_TYPE */
export function shortName(name: string, value: JsonValue | undefined): string | null {
  if (isLeftOut(value)) return null;
  if (typeof value === 'string' && SHORT_NAME.test(value)) return value;
  throw incorrect(`${name} must be 1 to 16 letters and digits.`);
}

/** @throws AppError INCORRECT_TYPE for a string that PostgreSQL cannot store, instead of changing it silently */
export function assertStorable(value: JsonValue): void {
  if (typeof value === 'string' && !isStorableText(value))
    throw incorrect('Strings must be valid Unicode without NUL characters.');
  if (Array.isArray(value)) value.forEach(assertStorable);
  else if (isJsonObject(value))
    for (const [key, member] of Object.entries(value)) {
      assertStorable(key);
      assertStorable(member);
    }
}

/**
 * The field that identifies a device: the token for Apple, the registration id for a vendor, the installation id for all others.
 * @throws AppError INCORRECT_TYPE
 */
function idField(type: string, vendor: JsonValue | undefined): string {
  if (type === 'ios') return 'deviceToken';
  if (isLeftOut(vendor)) return 'installationId';
  if (typeof vendor !== 'string' || vendor.trim() === '') throw incorrect('vendor must be a name such as mi.');
  return 'registrationId';
}

function parseWhereMember(where: JsonValue | undefined): JsonObject[] {
  if (isLeftOut(where)) return [];
  if (!isJsonObject(where)) throw appError('INVALID_QUERY', { message: 'where must be a JSON object.' });
  return Object.keys(where).length === 0 ? [] : [where];
}

/** An empty list is refused: it would select no device or, through a mistake, all devices. */
function parseChannelNames(channels: JsonValue | undefined): JsonObject[] {
  if (isLeftOut(channels)) return [];
  const names = parseChannels(Array.isArray(channels) ? channels : [channels]);
  if (names.length === 0) throw appError('INVALID_CHANNEL', { message: 'channels must contain at least one channel.' });
  return [{ channels: { $in: names } }];
}

function parseDeviceIds(ids: JsonValue): string[] {
  if (Array.isArray(ids) && ids.length > 0 && ids.length <= PUSH_LIMITS.deviceIds && ids.every(isDeviceId)) return ids;
  throw incorrect(`device_ids must be a list of 1 to ${PUSH_LIMITS.deviceIds} strings.`);
}

function isDeviceId(value: JsonValue): value is string {
  return typeof value === 'string' && value.trim() !== '' && value.length <= MAX_DEVICE_ID_LENGTH;
}

function oneOf(ids: string[]): JsonValue {
  const [first, ...others] = ids;
  return first !== undefined && others.length === 0 ? first : { $in: ids };
}
