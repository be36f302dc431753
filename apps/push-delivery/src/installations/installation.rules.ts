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

/** Letters, digits, `_ - =` and Chinese characters (specification, Installation); the empty name is everybody's channel. */
const CHANNEL = /^[A-Za-z0-9_=\-\p{Script=Han}]*$/u;

/** The names of channels in a list. @throws AppError INVALID_CHANNEL where one of them is none */
export function parseChannels(names: readonly JsonValue[]): string[] {
  return names.map((name) => {
    if (typeof name !== 'string' || !CHANNEL.test(name)) throw appError('INVALID_CHANNEL');
    return name;
  });
}

/** An installation as it is before a registration says anything about it. */
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

/** Whether a device is named by which it is known again. */
export function namesDevice({ installationId, deviceToken }: InstallationIdentity): boolean {
  return typeof installationId === 'string' || typeof deviceToken === 'string';
}

/**
 * Which of the installations a registration means: the one with its `installationId`; else the one that it names, unless
 * that has become another device's; else the one with its device token.
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

/** The installations that are the given one under another id: a device is one installation. */
export function duplicatesAmong(found: readonly InstallationRow[], installation: InstallationRow): InstallationRow[] {
  return found.filter(({ objectId }) => objectId !== installation.objectId);
}

/**
 * The installation with the changes applied.
 * @throws AppError KEY_REQUIRED where nothing would lead to the device any more; INCORRECT_TYPE where an operation does not fit
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

/** Object ids outlive devices: a backup that is restored on another one brings them along. */
function isOtherDevice(row: InstallationRow, { installationId }: InstallationIdentity): boolean {
  return row.installationId !== null && typeof installationId === 'string' && row.installationId !== installationId;
}

function isSameToken(row: InstallationRow, { deviceType, deviceToken }: InstallationIdentity): boolean {
  return row.deviceToken !== null && row.deviceToken === deviceToken && row.deviceType === deviceType;
}

function required(key: string) {
  return appError('KEY_REQUIRED', { message: `Key is required: ${key}.` });
}

/** What a request wants of an installation: checked, but not yet compared with the stored one. Absent: stays as it is. */
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

/** What a device may be called: a short name such as `ios`. */
export const DEVICE_TYPE = /^[A-Za-z][A-Za-z0-9_-]{0,31}$/;
/** Tokens are their makers' business; what has spaces or is longer than any of theirs is none. */
const DEVICE_TOKEN = /^[\x21-\x7e]{1,1024}$/;
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
      if (typeof value !== 'boolean') throw incorrect('valid', 'The value is true or false.');
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
 * Reads the fields of a registration. Swift's library names the object in the body, since it never sends PUT.
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
 * @throws AppError with the code of the first field that cannot be accepted, channels and custom fields coming last
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

function parseFields(fields: JsonObject): readonly FieldChange[] {
  for (const key of Object.keys(fields)) assertCustom(key);
  const { values, relations } = parseChanges(fields);
  const [relation] = relations;
  if (relation !== undefined) throw incorrect(relation.field, 'Installations have no relations.');
  return values.map((change) => (change.path[0] === 'channels' ? parseChannelChange(change) : change));
}

/** A key such as `ACL.x` names a part of what is ours. */
function assertCustom(key: string): void {
  const [field = ''] = key.split('.', 1);
  if (SERVER_OWNED.has(field)) throw readOnlyKey(field);
  if (parsers.has(field)) throw appError('INVALID_KEY_NAME', { message: `${field} is changed as a whole only.` });
}

/** Channels are a list of names, whatever is done to them. */
function parseChannelChange({ path, operation }: FieldChange): FieldChange {
  if (path.length > 1) throw appError('INVALID_KEY_NAME', { message: 'channels is changed as a whole only.' });
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
  if (!Array.isArray(value)) throw incorrect('channels', 'The value is a list of names.');
  return { kind: 'set', value: parseChannels(value) };
}

function parseInstallationId(value: JsonValue): string {
  const { success, data } = installationId.safeParse(value);
  if (!success || data.trim() === '' || !isStorableText(data))
    throw incorrect('installationId', 'The value is a text of 1 to 128 characters, not all of them blanks.');
  return data;
}

function parseDeviceType(value: JsonValue): string {
  if (typeof value !== 'string' || !DEVICE_TYPE.test(value))
    throw incorrect('deviceType', 'The value is a short name such as "android".');
  return value;
}

function parseDeviceToken(value: JsonValue): string {
  if (typeof value !== 'string' || !DEVICE_TOKEN.test(value)) throw appError('INVALID_DEVICE_TOKEN');
  return value;
}

/** null, the empty string and the Delete operation all mean that there shall be none. */
function isNothing(value: JsonValue): boolean {
  return value === null || value === '' || isDelete(value);
}

/** The value of a field that knows no operations. */
function plain(key: string, value: JsonValue): JsonValue {
  if (isOperation(value)) throw incorrect(key, 'The operation cannot be used on this field.');
  return value;
}

function incorrect(key: string, message: string): AppError {
  return appError('INCORRECT_TYPE', { message: `${key}: ${message}` });
}
