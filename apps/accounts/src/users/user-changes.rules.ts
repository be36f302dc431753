import type { JsonObject, JsonValue } from '#contracts';
import { appError, type ErrorName } from '#errors';
import { isStorableText } from '#object-query';
import { type Acl, parseAcl } from '../acl/acl.rules.js';
import { parseEmail, parsePhoneNumber, parseUsername } from './user-identifier.rules.js';

/** What a request wants of a user: checked, but not yet compared with the stored one. Absent: stays as it is. */
export interface UserChanges {
  readonly username?: string;
  readonly password?: string;
  readonly email?: string | null;
  readonly emailVerified?: boolean;
  readonly mobilePhoneNumber?: string | null;
  readonly mobilePhoneVerified?: boolean;
  readonly acl?: Acl | null;
  /** Custom fields to set. */
  readonly set: JsonObject;
  /** Custom fields to remove. */
  readonly unset: readonly string[];
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type Draft = Mutable<UserChanges> & { unset: string[] };
type FieldParser = (draft: Draft, value: JsonValue, isMaster: boolean) => void;

const KEY_NAME = /^[A-Za-z][A-Za-z0-9_]{0,127}$/;
const FORBIDDEN_KEYS = new Set(['__proto__', 'constructor', 'prototype']);
const SERVER_OWNED = new Set(['objectId', 'createdAt', 'updatedAt', 'sessionToken', 'salt', 'className']);
const MAX_NESTING = 32;

/** A value that stands for "remove the field". */
const REMOVED = Symbol('removed');

const parsers = new Map<string, FieldParser>([
  [
    'username',
    (draft, value) => {
      draft.username = parseUsername(value);
    },
  ],
  [
    'password',
    (draft, value) => {
      draft.password = parsePassword(value);
    },
  ],
  [
    'email',
    (draft, value) => {
      draft.email = isNothing(value) ? null : parseEmail(value);
    },
  ],
  [
    'mobilePhoneNumber',
    (draft, value) => {
      draft.mobilePhoneNumber = isNothing(value) ? null : parsePhoneNumber(value);
    },
  ],
  [
    'emailVerified',
    (draft, value, isMaster) => {
      draft.emailVerified = parseMasterFlag('emailVerified', value, isMaster);
    },
  ],
  [
    'mobilePhoneVerified',
    (draft, value, isMaster) => {
      draft.mobilePhoneVerified = parseMasterFlag('mobilePhoneVerified', value, isMaster);
    },
  ],
  [
    'ACL',
    (draft, value) => {
      draft.acl = value === null || isRemoval(value) ? null : parseAcl(value);
    },
  ],
  [
    'authData',
    (_, value) => {
      refuseAuthData(value);
    },
  ],
]);

/**
 * Reads the fields of a sign-up or an update.
 * @throws AppError with the code of the first field that cannot be accepted
 */
export function parseUserChanges(fields: JsonObject, isMaster: boolean): UserChanges {
  const draft: Draft = { set: {}, unset: [] };
  for (const [key, value] of Object.entries(fields)) {
    const parser = parsers.get(key);
    if (parser !== undefined) parser(draft, value, isMaster);
    else parseCustomField(draft, key, value);
  }
  return draft;
}

/** A password as it was sent. @throws AppError INVALID_PASSWORD */
export function parsePassword(value: JsonValue | undefined): string {
  if (typeof value !== 'string' || value.length === 0) throw appError('INVALID_PASSWORD');
  return value;
}

function parseCustomField(draft: Draft, key: string, value: JsonValue): void {
  if (SERVER_OWNED.has(key)) throw appError('READ_ONLY_KEY', { message: `The key is read only: ${key}.` });
  if (!KEY_NAME.test(key) || FORBIDDEN_KEYS.has(key)) throw invalidKey(key);
  const parsed = parseOperation(key, value);
  if (parsed === REMOVED) draft.unset.push(key);
  else draft.set[key] = parsed;
}

function parseOperation(key: string, value: JsonValue): JsonValue | typeof REMOVED {
  if (isRemoval(value)) return REMOVED;
  if (isOperation(value)) {
    throw appError('INCORRECT_TYPE', { message: `Unknown operation on ${key}.` });
  }
  assertStorable(value, 0);
  return value;
}

function isOperation(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.hasOwn(value, '__op');
}

function isRemoval(value: JsonValue): boolean {
  return isOperation(value) && value['__op'] === 'Delete';
}

/** null, the empty string and the Delete operation all mean that there shall be none. */
function isNothing(value: JsonValue): boolean {
  return value === null || value === '' || isRemoval(value);
}

function parseMasterFlag(key: string, value: JsonValue, isMaster: boolean): boolean {
  if (!isMaster) throw appError('READ_ONLY_KEY', { message: `The key is read only: ${key}.` });
  if (typeof value !== 'boolean') throw appError('INCORRECT_TYPE', { message: `${key} must be true or false.` });
  return value;
}

/** Empty authData means none; it must never open a session (docs/security.md). */
function refuseAuthData(value: JsonValue): void {
  const isEmpty =
    value === null || (typeof value === 'object' && !Array.isArray(value) && Object.keys(value).length === 0);
  if (!isEmpty)
    throw appError('NOT_SUPPORTED', { message: 'Third-party accounts (authData) are not supported by this version.' });
}

function assertStorable(value: JsonValue, depth: number): void {
  if (depth > MAX_NESTING) throw incorrect(`Values may be nested ${MAX_NESTING} levels deep at most.`);
  if (Array.isArray(value)) for (const item of value) assertStorable(item, depth + 1);
  else if (typeof value === 'object' && value !== null) assertStorableMembers(value, depth);
  else assertStorableScalar(value);
}

function assertStorableMembers(value: JsonObject, depth: number): void {
  for (const [key, item] of Object.entries(value)) {
    assertNestedKey(key);
    assertStorable(item, depth + 1);
  }
}

function assertStorableScalar(value: JsonValue): void {
  if (typeof value === 'string' && !isStorableText(value))
    throw incorrect('Strings must be valid Unicode without NUL characters.');
  if (typeof value === 'number' && !Number.isFinite(value)) throw incorrect('Numbers must be finite.');
}

function assertNestedKey(key: string): void {
  if (FORBIDDEN_KEYS.has(key) || !isStorableText(key)) throw invalidKey(key);
  if (key.startsWith('$') || key.includes('.')) throw wrong('INVALID_NESTED_KEY');
  if (key === '__op') throw incorrect('Operations cannot be nested.');
}

const invalidKey = (key: string) =>
  appError('INVALID_KEY_NAME', {
    message: `Invalid key name. Keys are case-sensitive and 'a-zA-Z0-9_' are the only valid characters. The column is: '${printable(key)}'.`,
  });
const incorrect = (message: string) => appError('INCORRECT_TYPE', { message });
const wrong = (name: ErrorName) => appError(name);

function printable(text: string): string {
  return text.slice(0, 64).replaceAll(/[^\x20-\x7e]/g, '?');
}
