import {
  ANONYMOUS_PLATFORM,
  type ClassName,
  type ImportedIdentity,
  type ImportedObject,
  type ImportedPassword,
  type ImportNote,
  isObjectId,
  isUnionIdEntryName,
  type JsonObject,
  type JsonValue,
  PLATFORM_KINDS,
  type PlatformKind,
  platformName,
  unionIdEntryName,
  unionIdFamily,
} from '#contracts';
import { AppError, appError } from '#errors';
import type { FieldDefinitions } from './class-definition.js';
import { installationClass } from './classes/installation.class.js';
import { roleClass } from './classes/role.class.js';
import { isUid, kindOfEntry, uidOfEntry, userClass } from './classes/user.class.js';
import { requiredField } from './import-claims.js';
import type { ObjectClass } from './object-class.js';
import type { FieldChange } from './operations/change.js';
import { isAbsent } from './stored-object.js';
import { dateOf, isJsonObject, parseAcl, reachesPrototype } from './values.js';

type ParsedRow =
  | { readonly object: ImportedObject; readonly notes: readonly ImportNote[] }
  | { readonly objectId: string | undefined; readonly refused: ImportNote };

const CLASSES: Readonly<Record<ClassName, ObjectClass<FieldDefinitions, never>>> = {
  _User: userClass,
  _Role: roleClass,
  _Installation: installationClass,
};

/** Members of a row that are neither built-in nor custom fields. */
const META = ['objectId', 'createdAt', 'updatedAt', 'ACL', 'className', '__type', '_id', '_r', '_w'];
const OTHER_MEMBERS: Readonly<Record<ClassName, ReadonlySet<string>>> = {
  _User: new Set([...META, 'password', 'salt', 'bcryptPassword', 'sessionToken', 'authData']),
  _Role: new Set(META),
  _Installation: new Set(META),
};
const SESSION_TOKEN = /^[\x21-\x7e]{1,128}$/;
const LEANCLOUD_HASH = /^[A-Za-z0-9+/]{86}==$/;
const BCRYPT_HASH = /^\$2[abxy]\$(\d\d)\$[./A-Za-z0-9]{53}$/;
const MIN_BCRYPT_COST = 4;
/** A hash of a higher cost would occupy a hashing thread for seconds at each login. */
const MAX_BCRYPT_COST = 15;
const NO_VALUE = appError('INCORRECT_TYPE', { message: 'is an operation or a path, not a value' });
const ROUNDED = 'holds a whole number over 2^53, which may be rounded';
const MAX_SALT_LENGTH = 256;
const MAX_ENTRIES = 50;
/** Exported relations are stubs: their members are in files of their own. */
const RELATION_STUB = 'Relation';

/** A row of LeanCloud's export. A field that cannot be stored is noted, without its value; a row without a usable id, time or name is refused. */
export function parseImportedRow(className: ClassName, row: JsonObject): ParsedRow {
  const { objectId } = row;
  const refusedRow = (field: string, reason: string): ParsedRow => ({
    objectId: typeof objectId === 'string' && isObjectId(objectId) ? objectId : undefined,
    refused: { field, reason },
  });
  if (typeof objectId !== 'string' || !isObjectId(objectId))
    return refusedRow('objectId', 'must be 1 to 64 letters, digits, _ or -');
  const updatedAt = dateOf(row['updatedAt']);
  if (updatedAt === undefined) return refusedRow('updatedAt', 'is missing or not a time of the years 1 to 9999');
  const notes: ImportNote[] = [];
  const createdAt = parseCreation(row['createdAt'], updatedAt, notes);
  const { columns, fields } = parseFields(className, row, notes);
  const missing = missingField(className, columns);
  if (missing !== undefined)
    return refusedRow(missing, notes.find(({ field }) => field === missing)?.reason ?? 'is missing');
  const object = {
    objectId,
    ...createdAt,
    updatedAt: updatedAt.toISOString(),
    acl: parseRowAcl(className, row['ACL'], notes),
    columns,
    fields,
    ...(className === '_User' ? parseCredentials(row, notes) : {}),
  };
  return { object, notes };
}

function parseCreation(value: JsonValue | undefined, updatedAt: Date, notes: ImportNote[]) {
  const createdAt = dateOf(value);
  if (createdAt !== undefined) return { createdAt: createdAt.toISOString() };
  notes.push({ field: 'createdAt', reason: 'is missing or not a time' });
  return { createdAt: updatedAt.toISOString(), isCreationUnknown: true as const };
}

function parseFields(className: ClassName, row: JsonObject, notes: ImportNote[]) {
  const [columns, fields]: [JsonObject, JsonObject] = [{}, {}];
  const { definition } = CLASSES[className];
  for (const [key, value] of Object.entries(row)) {
    if (OTHER_MEMBERS[className].has(key) || isRelationStub(value)) continue;
    const isBuiltIn = Object.hasOwn(definition.fields, key);
    if (isBuiltIn && isAbsent(value)) continue;
    const { value: stored, reason } = storedOf(className, [key, value]);
    if (reason !== undefined) notes.push({ field: shownName(key), reason });
    if (stored === undefined) continue;
    (isBuiltIn ? columns : fields)[key] = stored;
  }
  return { columns: settled(className, columns), fields };
}

/** `reason` says why the value is not stored, or not as it stands in the row. */
function storedOf(className: ClassName, [key, given]: [string, JsonValue]): { value?: JsonValue; reason?: string } {
  const salvaged = CLASSES[className].definition.formats?.[key]?.salvage?.(given);
  if (salvaged !== undefined) return salvaged;
  const value = parseField(className, [key, given]);
  if (value instanceof AppError) return { reason: value.message };
  if (value === undefined) return {};
  return holdsRounded(value) ? { value, reason: ROUNDED } : { value };
}

/** LeanCloud stores integers of 64 bits, as Java writes them; numbers of JavaScript are exact up to 2^53. */
function holdsRounded(value: JsonValue): boolean {
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(holdsRounded);
}

function missingField(className: ClassName, columns: JsonObject): string | undefined {
  if (className === '_Installation') return missingOfDevice(columns);
  const required = requiredField(className);
  return required === undefined || columns[required] !== undefined ? undefined : required;
}

/** A device is known by its own id, or by the token of a push provider and its type. */
function missingOfDevice({ installationId, deviceToken, deviceType }: JsonObject): string | undefined {
  if (deviceToken !== undefined && deviceType === undefined) return 'deviceType';
  return installationId === undefined && deviceToken === undefined ? 'installationId' : undefined;
}

function parseField(className: ClassName, [key, value]: [string, JsonValue]): JsonValue | AppError | undefined {
  try {
    const { custom, ...columns } = CLASSES[className].parse({ [key]: value }, true);
    if (Object.hasOwn(columns, key)) return (columns as JsonObject)[key] ?? null;
    return valueOf(custom[0], value);
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
}

function valueOf(change: FieldChange | undefined, value: JsonValue): JsonValue | AppError | undefined {
  if (change?.operation.kind === 'delete' && isAbsent(value)) return undefined;
  return change?.operation.kind === 'set' && change.path.length === 1 ? change.operation.value : NO_VALUE;
}

/** A state without its address or number says nothing. */
function settled(className: ClassName, columns: JsonObject): JsonObject {
  if (className !== '_User') return columns;
  const { emailVerified, mobilePhoneVerified, ...others } = columns;
  return {
    ...others,
    emailVerified: others['email'] === undefined ? null : (emailVerified ?? null),
    mobilePhoneVerified: others['mobilePhoneNumber'] !== undefined && mobilePhoneVerified === true,
  };
}

function isRelationStub(value: JsonValue): boolean {
  return isJsonObject(value) && value['__type'] === RELATION_STUB;
}

/** A key of the export is hostile until it is a field name. */
function shownName(key: string): string {
  return key.slice(0, 64).replaceAll(/[^\x20-\x7e]/g, '?');
}

/** The ACL. One that cannot be read closes the object: a missing ACL would open it to every client. */
function parseRowAcl(className: ClassName, value: JsonValue | undefined, notes: ImportNote[]): JsonObject | null {
  if (value === undefined || value === null) {
    if (className !== '_Role') return null;
    notes.push({ field: 'ACL', reason: 'is missing: only the master key can read and change the role' });
    return {};
  }
  try {
    return parseAcl(value);
  } catch {
    notes.push({ field: 'ACL', reason: 'is not valid: only the master key can read and change the object' });
    return {};
  }
}

function parseCredentials(row: JsonObject, notes: ImportNote[]) {
  const password = parsePassword(row, notes);
  const { sessionToken } = row;
  const isToken = typeof sessionToken === 'string' && SESSION_TOKEN.test(sessionToken);
  if (!isToken && sessionToken !== undefined && sessionToken !== null)
    notes.push({ field: 'sessionToken', reason: 'must be 1 to 128 visible ASCII characters' });
  const identities = parseAuthData(row['authData'], notes);
  return {
    ...(password === undefined ? {} : { password }),
    ...(isToken ? { sessionToken } : {}),
    ...(identities.length === 0 ? {} : { identities }),
  };
}

function parsePassword(
  { password, salt, bcryptPassword }: JsonObject,
  notes: ImportNote[],
): ImportedPassword | undefined {
  const hash = isAbsent(bcryptPassword) ? password : bcryptPassword;
  if (isAbsent(hash)) return undefined;
  const parsed = parseBcrypt(hash) ?? parseLeancloud(hash, salt);
  if (typeof parsed !== 'string') return parsed;
  notes.push({ field: 'password', reason: parsed });
  return undefined;
}

/** The hash, the reason why it is refused, or undefined where it is no bcrypt hash. */
function parseBcrypt(hash: JsonValue): ImportedPassword | string | undefined {
  const [bcrypt, cost] = typeof hash === 'string' ? (BCRYPT_HASH.exec(hash) ?? []) : [];
  if (bcrypt === undefined) return undefined;
  const isUsable = Number(cost) >= MIN_BCRYPT_COST && Number(cost) <= MAX_BCRYPT_COST;
  return isUsable
    ? { scheme: 'bcrypt', hash: bcrypt }
    : `has a bcrypt cost outside of ${MIN_BCRYPT_COST} to ${MAX_BCRYPT_COST}`;
}

function parseLeancloud(hash: JsonValue, salt: JsonValue | undefined): ImportedPassword | string {
  if (typeof hash !== 'string' || !LEANCLOUD_HASH.test(hash)) return 'is a hash of an unknown form';
  if (typeof salt !== 'string' || salt.length > MAX_SALT_LENGTH) return 'has no salt';
  return { scheme: 'leancloud', salt, hash };
}

function parseAuthData(authData: JsonValue | undefined, notes: ImportNote[]): ImportedIdentity[] {
  if (authData === undefined || authData === null) return [];
  if (!isJsonObject(authData)) {
    notes.push({ field: 'authData', reason: 'must be an object' });
    return [];
  }
  const entries = Object.entries(authData).filter(([, entry]) => entry !== null);
  const identities = entries.slice(0, MAX_ENTRIES).flatMap(([platform, entry]) => {
    const identity = parseEntry(platform, entry, authData);
    if (typeof identity !== 'string') return [identity];
    notes.push({ field: `authData.${shownName(platform)}`, reason: identity });
    return [];
  });
  if (entries.length > MAX_ENTRIES) notes.push({ field: 'authData', reason: `has more than ${MAX_ENTRIES} entries` });
  return identities;
}

/** The linked account of an entry, or the reason why it cannot be stored. LeanCloud has verified the accounts of the platforms it knows. */
function parseEntry(platform: string, entry: JsonValue, authData: JsonObject): ImportedIdentity | string {
  if (!isJsonObject(entry)) return 'must be an object';
  if (!platformName.safeParse(platform).success || reachesPrototype(platform)) return 'is not the name of a platform';
  return isUnionIdEntryName(platform)
    ? parseUnionEntry(platform, entry, authData)
    : parseAccount(platform, entry, authData);
}

function parseAccount(platform: string, entry: JsonObject, authData: JsonObject): ImportedIdentity | string {
  const kind = kindOfEntry(platform, entry);
  const uid = uidText(uidOfEntry(platform, kind, entry) ?? entry['uid'] ?? entry['openid']);
  if (uid === undefined) return 'has no id of 1 to 255 characters';
  const unionIdEntry = unionEntryOf(platform, entry, authData);
  return {
    platform,
    uid,
    ...(kind === undefined ? {} : { kind }),
    isVerified: kind !== undefined && platform !== ANONYMOUS_PLATFORM,
    entry,
    ...(unionIdEntry === undefined ? {} : { unionIdEntry }),
  };
}

/** The union id that LeanCloud has stored beside an account: `_weixin_unionid` beside `weixin`. */
function parseUnionEntry(platform: string, entry: JsonObject, authData: JsonObject): ImportedIdentity | string {
  const uid = uidText(entry['uid']);
  if (uid === undefined) return 'has no id of 1 to 255 characters';
  const kind = kindOfUnion(platform, authData);
  return { platform, uid, ...(kind === undefined ? {} : { kind }), isVerified: kind !== undefined, entry };
}

function kindOfUnion(name: string, authData: JsonObject): PlatformKind | undefined {
  const own = PLATFORM_KINDS.find((kind) => unionIdEntryName(kind) === name);
  if (own !== undefined) return unionIdFamily(own);
  const carrier = Object.entries(authData).find(
    ([platform, entry]) => isJsonObject(entry) && unionEntryOf(platform, entry, authData) === name,
  );
  const kind = carrier === undefined ? undefined : kindOfEntry(carrier[0], carrier[1] as JsonObject);
  return kind === undefined ? undefined : unionIdFamily(kind);
}

/** The entry of the union id that this account carries: that of the platform it names, else of its own key. */
function unionEntryOf(platform: string, entry: JsonObject, authData: JsonObject): string | undefined {
  const named = entry['platform'];
  const names = [...(typeof named === 'string' ? [named] : []), platform].map(unionIdEntryName);
  return names.find((name) => isJsonObject(authData[name]));
}

function uidText(value: JsonValue | undefined): string | undefined {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value);
  return isUid(value) ? value : undefined;
}
