import type { JsonObject, JsonValue } from '#contracts';
import { appError } from '#errors';
import { invalidFieldName, isFieldName, isJsonObject, parseValue } from '#object-values';
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

const SERVER_OWNED = new Set(['objectId', 'createdAt', 'updatedAt', 'sessionToken', 'salt', 'className']);

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
  if (!isFieldName(key)) throw invalidFieldName(key);
  const parsed = parseOperation(key, value);
  if (parsed === REMOVED) draft.unset.push(key);
  else draft.set[key] = parsed;
}

function parseOperation(key: string, value: JsonValue): JsonValue | typeof REMOVED {
  if (isRemoval(value)) return REMOVED;
  if (isOperation(value)) {
    throw appError('INCORRECT_TYPE', { message: `Unknown operation on ${key}.` });
  }
  return parseValue(value);
}

function isOperation(value: JsonValue): value is JsonObject {
  return isJsonObject(value) && Object.hasOwn(value, '__op');
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
