import type { JsonObject, JsonValue } from '#contracts';
import { type AppError, appError } from '#errors';
import {
  type Acl,
  type FieldChange,
  isDelete,
  isJsonObject,
  isOperation,
  parseAcl,
  parseChanges,
  readOnlyKey,
} from '#objects';
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
  /** Changes of custom fields. */
  readonly custom: readonly FieldChange[];
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type Draft = Mutable<Omit<UserChanges, 'custom'>>;
type FieldParser = (draft: Draft, value: JsonValue, isMaster: boolean) => void;

const SERVER_OWNED = new Set(['objectId', 'createdAt', 'updatedAt', 'sessionToken', 'salt', 'className']);

const parsers = new Map<string, FieldParser>([
  [
    'username',
    (draft, value) => {
      draft.username = parseUsername(plain('username', value));
    },
  ],
  [
    'password',
    (draft, value) => {
      draft.password = parsePassword(plain('password', value));
    },
  ],
  [
    'email',
    (draft, value) => {
      draft.email = isNothing(value) ? null : parseEmail(plain('email', value));
    },
  ],
  [
    'mobilePhoneNumber',
    (draft, value) => {
      draft.mobilePhoneNumber = isNothing(value) ? null : parsePhoneNumber(plain('mobilePhoneNumber', value));
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
      draft.acl = value === null || isDelete(value) ? null : parseAcl(plain('ACL', value));
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
 * @throws AppError with the code of the first field that cannot be accepted, the custom ones coming last
 */
export function parseUserChanges(fields: JsonObject, isMaster: boolean): UserChanges {
  const draft: Draft = {};
  const custom: [string, JsonValue][] = [];
  for (const [key, value] of Object.entries(fields)) {
    const parser = parsers.get(key);
    if (parser === undefined) custom.push([key, value]);
    else parser(draft, value, isMaster);
  }
  return { ...draft, custom: parseCustomFields(Object.fromEntries(custom)) };
}

/** A password as it was sent, not all of it blanks. @throws AppError INVALID_PASSWORD */
export function parsePassword(value: unknown): string {
  if (typeof value !== 'string' || value.trim() === '') throw appError('INVALID_PASSWORD');
  return value;
}

/** A password that must be there. @throws AppError PASSWORD_MISSING, INVALID_PASSWORD */
export function requirePassword(value: unknown): string {
  if (value === undefined || value === null || value === '') throw appError('PASSWORD_MISSING');
  return parsePassword(value);
}

function parseCustomFields(fields: JsonObject): readonly FieldChange[] {
  for (const key of Object.keys(fields)) assertCustom(key);
  const { values, relations } = parseChanges(fields);
  const [relation] = relations;
  if (relation !== undefined) throw incorrect(relation.field, 'Users have no relations.');
  return values;
}

/** A key such as `ACL.x` names a part of what is ours. */
function assertCustom(key: string): void {
  const [field = ''] = key.split('.', 1);
  if (SERVER_OWNED.has(field)) throw readOnlyKey(field);
  if (field === 'authData') throw appError('INVALID_IDENTITY');
  if (parsers.has(field)) throw appError('INVALID_KEY_NAME', { message: `${field} is changed as a whole only.` });
}

/** The value of a field that knows no operations, but for the removal of some. */
function plain(key: string, value: JsonValue): JsonValue {
  if (isOperation(value)) throw incorrect(key, 'The operation cannot be used on this field.');
  return value;
}

/** null, the empty string and the Delete operation all mean that there shall be none. */
function isNothing(value: JsonValue): boolean {
  return value === null || value === '' || isDelete(value);
}

function parseMasterFlag(key: string, value: JsonValue, isMaster: boolean): boolean {
  if (!isMaster) throw readOnlyKey(key);
  if (typeof value !== 'boolean') throw incorrect(key, 'The value is true or false.');
  return value;
}

/** Empty authData means none. What it says comes as identities, by way of auth-linking; here nothing would have proven it. */
function refuseAuthData(value: JsonValue): void {
  const isEmpty = value === null || (isJsonObject(value) && Object.keys(value).length === 0);
  if (!isEmpty) throw appError('INVALID_IDENTITY');
}

function incorrect(key: string, message: string): AppError {
  return appError('INCORRECT_TYPE', { message: `${key}: ${message}` });
}
