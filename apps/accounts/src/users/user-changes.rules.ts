import type { JsonObject, JsonValue } from '#contracts';
import { appError, type AppError } from '#errors';
import {
  type Acl,
  type FieldChange,
  isDelete,
  isJsonObject,
  isOperation,
  isStorableText,
  parseAcl,
  parseChanges,
  readOnlyKey,
} from '#objects';

/** The fields by which a user logs in. */
export type LoginIdentifier = 'username' | 'email' | 'mobilePhoneNumber';

const MAX_USERNAME_LENGTH = 255;
/** RFC 5321: 64 before the @, 255 after it, 254 together. */
const MAX_EMAIL_LENGTH = 254;
const LOCAL_PART = String.raw`[^\s@<>(),;:"\\[\]]{1,64}`;
/** A part of a domain's name, in any script. */
const LABEL = String.raw`[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}-]{0,61}[\p{L}\p{N}\p{M}])?`;
/** The last label contains a letter, so an address never names an IP address. */
const EMAIL = new RegExp(`^${LOCAL_PART}@(?:${LABEL}\\.){1,10}(?=[^.]*\\p{L})(?=.{2,63}$)${LABEL}$`, 'u');
/** Control characters of terminals, lines and text direction are not part of an address. */
const INVISIBLE_CHARACTERS = /[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}]/u;
const INTERNATIONAL_PHONE = /^\+[1-9]\d{5,14}$/;
const NATIONAL_PHONE = /^\d{6,13}$/;
/** Numbers without a prefix are Chinese, as in the original API. */
const DEFAULT_PREFIX = '+86';

/** @throws AppError INVALID_USERNAME */
export function parseUsername(value: JsonValue): string {
  const isValid =
    typeof value === 'string' && value.trim() !== '' && value.length <= MAX_USERNAME_LENGTH && isStorableText(value);
  if (!isValid) throw appError('INVALID_USERNAME');
  return value;
}

/** One address, unchanged (RFC 5321, RFC 6531). @throws AppError INVALID_EMAIL */
export function parseEmail(value: JsonValue): string {
  if (typeof value !== 'string' || !isEmail(value)) throw appError('INVALID_EMAIL');
  return value;
}

/**
 * Mail servers may normalize an address, and a full-width comma becomes a comma: the normalized text must be one address as well.
 */
function isEmail(text: string): boolean {
  return text.length <= MAX_EMAIL_LENGTH && isStorableText(text) && [text, text.normalize('NFKC')].every(isPlainEmail);
}

function isPlainEmail(text: string): boolean {
  return text.length <= MAX_EMAIL_LENGTH && !INVISIBLE_CHARACTERS.test(text) && EMAIL.test(text);
}

/** The number in international format. @throws AppError INVALID_PHONE */
export function parsePhoneNumber(value: JsonValue): string {
  if (typeof value === 'string' && INTERNATIONAL_PHONE.test(value)) return value;
  if (typeof value === 'string' && NATIONAL_PHONE.test(value)) return DEFAULT_PREFIX + value;
  throw appError('INVALID_PHONE');
}

/** The requested changes of a user, validated but not yet compared with the stored user. Absent members do not change. */
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
 * Parses the fields of a sign-up or an update.
 * @throws AppError with the code of the first invalid field, the custom ones last
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

/** A password, unchanged and not blank. @throws AppError INVALID_PASSWORD */
export function parsePassword(value: unknown): string {
  if (typeof value !== 'string' || value.trim() === '') throw appError('INVALID_PASSWORD');
  return value;
}

/** @throws AppError PASSWORD_MISSING, INVALID_PASSWORD */
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

/** A key such as `ACL.x` names a part of a built-in field. */
function assertCustom(key: string): void {
  const [field = ''] = key.split('.', 1);
  if (SERVER_OWNED.has(field)) throw readOnlyKey(field);
  if (field === 'authData') throw appError('INVALID_IDENTITY');
  if (parsers.has(field)) throw appError('INVALID_KEY_NAME', { message: `${field} can only be changed as a whole.` });
}

/** The value of a field that supports no operations besides Delete. */
function plain(key: string, value: JsonValue): JsonValue {
  if (isOperation(value)) throw incorrect(key, 'The operation cannot be used on this field.');
  return value;
}

/** null, the empty string and the Delete operation all remove the value. */
function isNothing(value: JsonValue): boolean {
  return value === null || value === '' || isDelete(value);
}

function parseMasterFlag(key: string, value: JsonValue, isMaster: boolean): boolean {
  if (!isMaster) throw readOnlyKey(key);
  if (typeof value !== 'boolean') throw incorrect(key, 'The value is true or false.');
  return value;
}

/** Empty authData is ignored. Other authData must come through auth-linking as verified identities. */
function refuseAuthData(value: JsonValue): void {
  const isEmpty = value === null || (isJsonObject(value) && Object.keys(value).length === 0);
  if (!isEmpty) throw appError('INVALID_IDENTITY');
}

function incorrect(key: string, message: string): AppError {
  return appError('INCORRECT_TYPE', { message: `${key}: ${message}` });
}
