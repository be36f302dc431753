import { isObjectId, isUserOrRole, type JsonObject, type JsonValue, type Principal } from '#contracts';
import { type AppError, appError } from '#errors';

/** Whether PostgreSQL can store the text: no NUL character and no unpaired surrogate. */
export function isStorableText(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const FIELD_NAME = /^[A-Za-z][A-Za-z0-9_]{0,127}$/;
const PROTOTYPE_NAMES = new Set(['__proto__', 'constructor', 'prototype']);

/** Whether a custom field may have the name: a letter, followed by letters, digits and `_`; at most 128 characters. */
export function isFieldName(name: string): boolean {
  return FIELD_NAME.test(name) && !reachesPrototype(name);
}

export function reachesPrototype(name: string): boolean {
  return PROTOTYPE_NAMES.has(name);
}

export function invalidFieldName(name: string): AppError {
  const shown = name.slice(0, 64).replaceAll(/[^\x20-\x7e]/g, '?');
  return appError('INVALID_KEY_NAME', {
    message: `Invalid key name. Keys are case-sensitive and 'a-zA-Z0-9_' are the only valid characters. The column is: '${shown}'.`,
  });
}

export function assertNestedKey(key: string): void {
  if (reachesPrototype(key) || !isStorableText(key)) throw invalidFieldName(key);
  if (key.includes('$') || key.includes('.')) throw appError('INVALID_NESTED_KEY');
}

const ISO_TIME =
  /^(?<day>\d{4}-\d\d-\d\d)(?:T(?<time>(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?)(?:Z|(?<offset>[+-]\d\d:?\d\d))?)?$/;

/** Undefined where it is invalid. Without an offset the time is UTC. Years are 1 to 9999, so that the canonical texts sort chronologically. */
export function dateOf(value: JsonValue | undefined): Date | undefined {
  if (typeof value === 'string') return dateOfText(value);
  const iso = isJsonObject(value) && value['__type'] === 'Date' ? value['iso'] : undefined;
  return typeof iso === 'string' ? dateOfText(iso) : undefined;
}

function dateOfText(text: string): Date | undefined {
  const { day, time = '00:00', offset = 'Z' } = ISO_TIME.exec(text)?.groups ?? {};
  if (day === undefined || !isCalendarDay(day)) return undefined;
  const date = new Date(`${day}T${time}${withColon(offset)}`);
  const year = date.getUTCFullYear();
  return year >= 1 && year <= 9999 ? date : undefined;
}

/** JavaScript accepts February 30 as March 2. */
function isCalendarDay(day: string): boolean {
  return new Date(`${day}T00:00Z`).getUTCDate() === Number(day.slice(-2));
}

function withColon(offset: string): string {
  return offset.length === 5 ? `${offset.slice(0, 3)}:${offset.slice(3)}` : offset;
}

export interface GeoPoint {
  readonly latitude: number;
  readonly longitude: number;
}

export function geoPointOf(value: JsonValue | undefined): GeoPoint | undefined {
  if (!isJsonObject(value) || value['__type'] !== 'GeoPoint') return undefined;
  const { latitude, longitude } = value;
  if (!isWithin(latitude, 90) || !isWithin(longitude, 180)) return undefined;
  return { latitude: computable(latitude), longitude: computable(longitude) };
}

/** Less than the size of an atom. PostgreSQL refuses to compute distances from values that are much smaller, as underflow. */
const MIN_DEGREES = 1e-15;

function computable(degrees: number): number {
  return Math.abs(degrees) < MIN_DEGREES ? 0 : degrees;
}

function isWithin(value: JsonValue | undefined, degrees: number): value is number {
  return typeof value === 'number' && Math.abs(value) <= degrees;
}

export interface Pointer {
  readonly className: string;
  readonly objectId: string;
}

const CLASS_NAME = /^_?[A-Za-z][A-Za-z0-9_]{0,127}$/;
const POINTER_TYPES = new Set<unknown>(['Pointer', 'Object']);

/** Parses a Pointer, or a whole object (`Object`) as a Pointer to it. @throws AppError MALFORMED_POINTER */
export function parsePointer(value: JsonValue | undefined): Pointer {
  const { __type: type, className, objectId } = isJsonObject(value) ? value : ({} as JsonObject);
  if (!POINTER_TYPES.has(type) || typeof className !== 'string' || typeof objectId !== 'string')
    throw appError('MALFORMED_POINTER');
  if (!CLASS_NAME.test(className) || !isObjectId(objectId)) throw appError('MALFORMED_POINTER');
  return { className, objectId };
}

const MAX_NESTING = 32;

const typedValues = new Map<JsonValue, (value: JsonObject, depth: number) => JsonObject>([
  ['Date', parseDate],
  ['Pointer', toPointer],
  ['Object', toPointer],
  ['GeoPoint', parseGeoPoint],
  ['Bytes', parseBytes],
  ['File', parseFile],
  ['Relation', refuseRelation],
]);

/** The canonical form of typed values: equal values are stored identically. @param depth number of levels of the field above the value */
export function parseValue(value: JsonValue, depth = 0): JsonValue {
  if (depth > MAX_NESTING) throw incorrect(`Values may be nested at most ${MAX_NESTING} levels deep.`);
  if (Array.isArray(value)) return value.map((item) => parseValue(item, depth + 1));
  if (isJsonObject(value)) return parseObject(value, depth);
  assertStorableScalar(value);
  return value;
}

function parseObject(value: JsonObject, depth: number): JsonObject {
  const type = value['__type'];
  if (type === undefined) return parseMembers(value, depth);
  const parse = typedValues.get(type);
  if (parse === undefined) throw incorrect('Unknown __type.');
  return parse(value, depth);
}

function parseMembers(value: JsonObject, depth: number): JsonObject {
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      assertNestedKey(key);
      if (key === '__op') throw incorrect('Operations cannot be nested.');
      return [key, parseValue(item, depth + 1)];
    }),
  );
}

function parseDate(value: JsonObject): JsonObject {
  const date = dateOf(value);
  if (date === undefined) throw incorrect('A Date needs an ISO 8601 time of the years 1 to 9999.');
  return { __type: 'Date', iso: date.toISOString() };
}

function toPointer(value: JsonObject): JsonObject {
  return { __type: 'Pointer', ...parsePointer(value) };
}

function parseGeoPoint(value: JsonObject): JsonObject {
  const point = geoPointOf(value);
  if (point === undefined) throw incorrect('A GeoPoint needs a latitude of -90 to 90 and a longitude of -180 to 180.');
  return { __type: 'GeoPoint', ...point };
}

/** Some encoders insert line breaks. */
function parseBytes({ base64 }: JsonObject): JsonObject {
  const text = typeof base64 === 'string' ? base64.replaceAll(/[\r\n]/g, '') : undefined;
  if (text === undefined || Buffer.from(text, 'base64').toString('base64') !== text)
    throw incorrect('Bytes need a base64 text.');
  return { __type: 'Bytes', base64: text };
}

/** Files are stored elsewhere: the client's data about a file is kept unchanged. */
function parseFile(value: JsonObject, depth: number): JsonObject {
  const id = value['id'] ?? value['objectId'];
  if (typeof id !== 'string' || id === '') throw incorrect('A File needs an id.');
  return parseMembers(value, depth);
}

function refuseRelation(): never {
  throw incorrect('A relation cannot be set. Use AddRelation and RemoveRelation.');
}

function assertStorableScalar(value: string | number | boolean | null): void {
  if (typeof value === 'string' && !isStorableText(value))
    throw incorrect('Strings must be valid Unicode without NUL characters.');
  if (typeof value === 'number' && !Number.isFinite(value)) throw incorrect('Numbers must be finite.');
}

function incorrect(message: string): AppError {
  return appError('INCORRECT_TYPE', { message });
}

export const ANONYMOUS: Principal = { userId: undefined, roles: [] };

/** The keys of an ACL that match this principal (specification, Access control list). */
export function granteesOf({ userId, roles }: Principal): string[] {
  return ['*', ...(userId === undefined ? [] : [userId]), ...roles.map((name) => `role:${name}`)];
}

type Permission = 'read' | 'write';

export type Acl = Readonly<Record<string, Readonly<Partial<Record<Permission, true>>>>>;

const PERMISSIONS: ReadonlySet<string> = new Set<Permission>(['read', 'write']);
const MAX_ENTRIES = 1_000;

/** SDKs for Flutter, C#, PHP and Java send `false`, too: it grants nothing and is left out. @throws AppError INVALID_ACL */
export function parseAcl(value: JsonValue): Acl {
  const entries = isJsonObject(value) ? Object.entries(value) : undefined;
  if (entries === undefined || entries.length > MAX_ENTRIES || !entries.every(isEntry)) throw appError('INVALID_ACL');
  const granted = entries.map(([grantee, permissions]) => [grantee, onlyGranted(permissions)] as const);
  return Object.fromEntries(granted.filter(([, permissions]) => Object.keys(permissions).length > 0));
}

function onlyGranted(permissions: Entry[1]): Acl[string] {
  return Object.fromEntries(Object.entries(permissions).filter(([, granted]) => granted));
}

/** Whether the ACL grants a permission to one of the grantees: `*`, user ids, `role:<name>`. A missing ACL grants everything. */
export function grants(acl: Acl | null, permission: Permission, grantees: readonly string[]): boolean {
  return acl === null || grantees.some((grantee) => Object.hasOwn(acl, grantee) && acl[grantee]?.[permission] === true);
}

export function writeForbidden(): AppError {
  return appError('FORBIDDEN', { message: "Forbidden writing by object's ACL." });
}

type Entry = [grantee: string, permissions: Partial<Record<Permission, boolean>>];

function isEntry(entry: [string, JsonValue]): entry is Entry {
  const [grantee, permissions] = entry;
  return (
    (grantee === '*' || isUserOrRole(grantee)) &&
    isJsonObject(permissions) &&
    Object.entries(permissions).every(([name, granted]) => PERMISSIONS.has(name) && typeof granted === 'boolean')
  );
}
