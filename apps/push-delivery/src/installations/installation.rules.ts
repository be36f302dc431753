import { installationId, isObjectId, type JsonObject, type JsonValue } from '#contracts';
import { appError, type AppError } from '#errors';
import {
  type Acl,
  applyChanges as applyFieldChanges,
  type FieldChange,
  isDelete,
  isOperation,
  isStorableText,
  parseAcl,
  parseChanges,
  readOnlyKey,
} from '#objects';
import type { InstallationIdentity, InstallationRow } from './installation.row.js';

/** The requested changes: valid in themselves, not yet compared with the stored installation. An absent field does not change. */
interface InstallationChanges {
  readonly installationId?: string | null;
  readonly deviceType?: string | null;
  readonly deviceToken?: string | null;
  readonly valid?: boolean;
  readonly acl?: Acl | null;
  /** Changes of channels and custom fields. */
  readonly fields: readonly FieldChange[];
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

type Draft = Mutable<Omit<InstallationChanges, 'fields'>>;

type FieldParser = (draft: Draft, value: JsonValue) => void;

/** A device type is a short name such as `ios`. */
export const DEVICE_TYPE = /^[A-Za-z][A-Za-z0-9_-]{0,31}$/;
/** The format of a token belongs to its provider. No provider uses spaces or more than 1,024 characters. */
const DEVICE_TOKEN = /^[\x21-\x7e]{1,1024}$/;
/** Letters, digits, `_ - =` and Chinese characters (specification, Installation); the empty name addresses all devices. */
const CHANNEL = /^[A-Za-z0-9_=\-\p{Script=Han}]*$/u;
const SERVER_OWNED = new Set(['objectId', 'createdAt', 'updatedAt', 'className']);

const parsers = new Map<string, FieldParser>([
  [
    'installationId',
    (draft, value) => {
      draft.installationId = isNothing(value) ? null : parseInstallationId(value);
    },
  ],
  [
    'deviceType',
    (draft, value) => {
      draft.deviceType = isNothing(value) ? null : parseDeviceType(value);
    },
  ],
  [
    'deviceToken',
    (draft, value) => {
      draft.deviceToken = isNothing(value) ? null : parseDeviceToken(value);
    },
  ],
  [
    'valid',
    (draft, value) => {
      if (typeof value !== 'boolean') throw incorrect('valid', 'The value must be true or false.');
      draft.valid = value;
    },
  ],
  [
    'ACL',
    (draft, value) => {
      draft.acl = value === null || isDelete(value) ? null : parseAcl(plain('ACL', value));
    },
  ],
]);

/**
 * Reads the fields of a registration. The Swift SDK sends the object id in the body, because it never sends PUT.
 * @throws AppError as `parseInstallationChanges`
 */
export function parseRegistration({ objectId, ...fields }: JsonObject): {
  objectId?: string;
  changes: InstallationChanges;
} {
  const changes = parseInstallationChanges(fields);
  if (objectId === undefined || isNothing(objectId)) return { changes };
  if (typeof objectId !== 'string' || !isObjectId(objectId)) throw readOnlyKey('objectId');
  return { objectId, changes };
}

/**
 * Reads the fields of a change.
 * @throws AppError with the code of the first invalid field; channels and custom fields are checked last
 */
export function parseInstallationChanges(fields: JsonObject): InstallationChanges {
  const draft: Draft = {};
  const others: [string, JsonValue][] = [];
  for (const [key, value] of Object.entries(fields)) {
    const parser = parsers.get(key);
    if (parser === undefined) others.push([key, value]);
    else parser(draft, value);
  }
  return { ...draft, fields: parseFields(Object.fromEntries(others)) };
}

/**
 * The installation with the changes applied.
 * @throws AppError KEY_REQUIRED if neither an id nor a token would identify the device; INCORRECT_TYPE if an operation does not
 *   fit the stored value
 */
export function applyChanges(
  installation: InstallationRow,
  { fields, ...changes }: InstallationChanges,
): InstallationRow {
  const changed = { ...installation, ...changes, fields: applyFieldChanges(installation.fields, fields) };
  if (changed.installationId === null && changed.deviceToken === null) throw required('installationId');
  if (changed.deviceToken !== null && changed.deviceType === null) throw required('deviceType');
  return changed;
}

/** A new installation, before the values of its registration are applied. */
export function newInstallation(objectId: string, now: Date): InstallationRow {
  return {
    objectId,
    installationId: null,
    deviceType: null,
    deviceToken: null,
    valid: true,
    acl: null,
    fields: {},
    createdAt: now,
    updatedAt: now,
  };
}

/** Whether the identity names a device, by its id or its token. */
export function namesDevice({ installationId, deviceToken }: InstallationIdentity): boolean {
  return typeof installationId === 'string' || typeof deviceToken === 'string';
}

/**
 * The installation that a registration refers to: the one with its `installationId`; else the one with its `objectId`, unless
 * that one belongs to another device by now; else the one with its device token.
 */
export function registeredAmong(
  found: readonly InstallationRow[],
  identity: InstallationIdentity,
): InstallationRow | undefined {
  return (
    found.find(({ installationId }) => installationId !== null && installationId === identity.installationId) ??
    found.find((row) => row.objectId === identity.objectId && !isOtherDevice(row, identity)) ??
    found.find((row) => isSameToken(row, identity))
  );
}

/** The other installations of the same device: a device has one installation. */
export function duplicatesAmong(found: readonly InstallationRow[], installation: InstallationRow): InstallationRow[] {
  return found.filter(({ objectId }) => objectId !== installation.objectId);
}

/** The names of channels in a list. @throws AppError INVALID_CHANNEL for an invalid name */
export function parseChannels(names: readonly JsonValue[]): string[] {
  return names.map((name) => {
    if (typeof name !== 'string' || !CHANNEL.test(name)) throw appError('INVALID_CHANNEL');
    return name;
  });
}

/** An object id can move to another device: a restored backup contains it. */
function isOtherDevice(row: InstallationRow, { installationId }: InstallationIdentity): boolean {
  return row.installationId !== null && typeof installationId === 'string' && row.installationId !== installationId;
}

function isSameToken(row: InstallationRow, { deviceType, deviceToken }: InstallationIdentity): boolean {
  return row.deviceToken !== null && row.deviceToken === deviceToken && row.deviceType === deviceType;
}

function required(key: string) {
  return appError('KEY_REQUIRED', { message: `Key is required: ${key}.` });
}

function parseFields(fields: JsonObject): readonly FieldChange[] {
  for (const key of Object.keys(fields)) assertCustom(key);
  const { values, relations } = parseChanges(fields);
  const [relation] = relations;
  if (relation !== undefined) throw incorrect(relation.field, 'Relations are not supported for _Installation.');
  return values.map((change) => (change.path[0] === 'channels' ? parseChannelChange(change) : change));
}

/** A key such as `ACL.x` names a part of a built-in field. */
function assertCustom(key: string): void {
  const [field = ''] = key.split('.', 1);
  if (SERVER_OWNED.has(field)) throw readOnlyKey(field);
  if (parsers.has(field)) throw appError('INVALID_KEY_NAME', { message: `${field} can only be changed as a whole.` });
}

/** Every operation on channels takes a list of valid names. */
function parseChannelChange({ path, operation }: FieldChange): FieldChange {
  if (path.length > 1) throw appError('INVALID_KEY_NAME', { message: 'channels can only be changed as a whole.' });
  switch (operation.kind) {
    case 'delete':
      return { path, operation };
    case 'set':
      return { path, operation: parseChannelList(operation.value) };
    case 'add':
    case 'addUnique':
    case 'remove':
      return { path, operation: { kind: operation.kind, objects: parseChannels(operation.objects) } };
    case 'increment':
    case 'bits':
      throw incorrect('channels', 'The operation cannot be used on this field.');
  }
}

function parseChannelList(value: JsonValue): FieldChange['operation'] {
  if (value === null) return { kind: 'delete' };
  if (!Array.isArray(value)) throw incorrect('channels', 'The value must be a list of names.');
  return { kind: 'set', value: parseChannels(value) };
}

function parseInstallationId(value: JsonValue): string {
  const { success, data } = installationId.safeParse(value);
  if (!success || data.trim() === '' || !isStorableText(data))
    throw incorrect('installationId', 'The value must be a string of 1 to 128 characters that are not all spaces.');
  return data;
}

function parseDeviceType(value: JsonValue): string {
  if (typeof value !== 'string' || !DEVICE_TYPE.test(value))
    throw incorrect('deviceType', 'The value must be a short name such as "android".');
  return value;
}

function parseDeviceToken(value: JsonValue): string {
  if (typeof value !== 'string' || !DEVICE_TOKEN.test(value)) throw appError('INVALID_DEVICE_TOKEN');
  return value;
}

/** null, the empty string and the Delete operation remove the value. */
function isNothing(value: JsonValue): boolean {
  return value === null || value === '' || isDelete(value);
}

/** The value of a field that supports no operations. */
function plain(key: string, value: JsonValue): JsonValue {
  if (isOperation(value)) throw incorrect(key, 'The operation cannot be used on this field.');
  return value;
}

function incorrect(key: string, message: string): AppError {
  return appError('INCORRECT_TYPE', { message: `${key}: ${message}` });
}
