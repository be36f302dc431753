import { z } from 'zod';
import {
  ANONYMOUS_PLATFORM,
  type JsonObject,
  type JsonValue,
  MAX_UID_LENGTH,
  PLATFORM_KINDS,
  type PlatformKind,
} from '#contracts';
import { appError } from '#errors';
import { type ObjectChanges, type ObjectRow, type ObjectView, parseFlag, plain } from '../class-definition.js';
import { defineClass } from '../object-class.js';
import { isJsonObject, isStorableText } from '../values.js';

export type LoginIdentifier = 'username' | 'email' | 'mobilePhoneNumber';

const MAX_USERNAME_LENGTH = 255;
/** RFC 5321: 64 before the @, 255 after it, 254 together. */
const MAX_EMAIL_LENGTH = 254;
const LOCAL_PART = String.raw`[^\s@<>(),;:"\\[\]]{1,64}`;
const LABEL = String.raw`[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}-]{0,61}[\p{L}\p{N}\p{M}])?`;
/** The last label contains a letter, so an address never names an IP address. */
const EMAIL = new RegExp(`^${LOCAL_PART}@(?:${LABEL}\\.){1,10}(?=[^.]*\\p{L})(?=.{2,63}$)${LABEL}$`, 'u');
/** Control characters of terminals, lines and text direction are not part of an address. */
const INVISIBLE_CHARACTERS = /[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}]/u;
const INTERNATIONAL_PHONE = /^\+[1-9]\d{5,14}$/;
const NATIONAL_PHONE = /^\d{6,13}$/;
/** A Chinese mobile number with its country code: without the plus, or twice. No national number is that long or begins so. */
const CHINESE_MOBILE = /^(?:\+86)?86(1\d{10})$/;
/** Numbers without a prefix are Chinese, as in the original API. */
const DEFAULT_PREFIX = '+86';

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

/** Mail servers may normalize an address, and a full-width comma becomes a comma: the normalized text must be one as well. */
function isEmail(text: string): boolean {
  return text.length <= MAX_EMAIL_LENGTH && isStorableText(text) && [text, text.normalize('NFKC')].every(isPlainEmail);
}

function isPlainEmail(text: string): boolean {
  return text.length <= MAX_EMAIL_LENGTH && !INVISIBLE_CHARACTERS.test(text) && EMAIL.test(text);
}

export function parsePhoneNumber(value: JsonValue): string {
  const number = typeof value === 'string' ? internationalForm(value) : '';
  if (!INTERNATIONAL_PHONE.test(number)) throw appError('INVALID_PHONE');
  return number;
}

function internationalForm(number: string): string {
  const national = CHINESE_MOBILE.exec(number)?.[1] ?? number;
  return NATIONAL_PHONE.test(national) ? DEFAULT_PREFIX + national : national;
}

/** The name of a user that signed up by phone is the number: `hideContact` hides both. */
function presentUsername({ username }: PublicUserRow, { viewer, hideContact }: ObjectView): string | undefined {
  return viewer === 'other' && hideContact === true && INTERNATIONAL_PHONE.test(username) ? undefined : username;
}

export function parsePassword(value: unknown): string {
  if (typeof value !== 'string' || value.trim() === '') throw appError('INVALID_PASSWORD');
  return hashable(value);
}

/** UTF-8 encodes all unpaired surrogates alike: the hashes of different passwords would be equal. @throws AppError INVALID_PASSWORD */
export function hashable(password: string): string {
  if (!password.isWellFormed())
    throw appError('INVALID_PASSWORD', { message: 'The password contains an unpaired surrogate: send valid Unicode.' });
  return password;
}

export function requirePassword(value: unknown): string {
  if (value === undefined || value === null || value === '') throw appError('PASSWORD_MISSING');
  return parsePassword(value);
}

/** Empty authData is ignored. Other authData must come through auth-linking as verified identities. */
function refuseAuthData(value: JsonValue): undefined {
  const isEmpty = value === null || (isJsonObject(value) && Object.keys(value).length === 0);
  if (!isEmpty) throw appError('INVALID_IDENTITY', { message: 'authData: this request links no accounts.' });
  return undefined;
}

interface PublicUserRow extends ObjectRow {
  readonly username: string;
  readonly emailVerified: boolean | null;
  readonly identities: ReadonlyMap<string, { readonly entry: JsonObject }> | null;
}

/** The session key of a mini program's platform; its documentation forbids sending it to clients. */
const SERVER_ONLY = 'session_key';

/** Platform tokens are visible only to the user and the master key. */
function presentAuthData({ identities }: PublicUserRow, { viewer }: ObjectView): JsonObject | undefined {
  if (identities === null || viewer === 'other') return undefined;
  return Object.fromEntries([...identities].map(([platform, { entry }]) => [platform, presentEntry(entry, viewer)]));
}

function presentEntry(entry: JsonObject, viewer: ObjectView['viewer']): JsonObject {
  return viewer === 'master'
    ? entry
    : Object.fromEntries(Object.entries(entry).filter(([name]) => name !== SERVER_ONLY));
}

const linkedAuthData = z
  .record(z.string(), z.looseObject({}).describe('The data that the app sent, with additions of the platform.'))
  .describe(
    'Accounts on other platforms, by platform; `_<platform>_unionid` contains a union id. For the user and the master key only.',
  );

export const passwordSchema = z.string().min(1).describe('Never part of a response.');
export const phoneNumberSchema = z
  .string()
  .describe('`+` and 6 to 15 digits, unique. A number without a prefix is a Chinese one.');
export const usernameSchema = z.string().min(1).max(MAX_USERNAME_LENGTH).describe('Unique, case-sensitive.');
export const emailSchema = z.string().max(MAX_EMAIL_LENGTH).describe('Unique, case-sensitive.');

/** Users (specification, User). The session token and the password hash are columns that no request names. */
export const userClass = defineClass<PublicUserRow>()({
  name: '_User',
  table: 'accounts.users',
  description: 'A user. `keys` and settings can omit fields.',
  fields: {
    username: {
      schema: usernameSchema,
      parse: (value: JsonValue) => parseUsername(plain('username', value)),
      takenError: 'USERNAME_TAKEN',
      query: { type: 'text', isUnique: true },
      present: presentUsername,
      mayBeContact: true,
    },
    password: {
      schema: passwordSchema,
      parse: (value: JsonValue) => parsePassword(plain('password', value)),
      present: 'hidden',
    },
    email: {
      schema: emailSchema,
      parse: (value: JsonValue) => parseEmail(plain('email', value)),
      isRemovable: true,
      takenError: 'EMAIL_TAKEN',
      query: { type: 'text', isNullable: true, isUnique: true },
      isContact: true,
    },
    emailVerified: {
      schema: z.boolean().nullable(),
      parse: (value: JsonValue) => parseFlag('emailVerified', value),
      isRemovable: true,
      isForMaster: true,
      query: { type: 'boolean', isNullable: true },
      present: ({ emailVerified }: PublicUserRow) => emailVerified,
    },
    mobilePhoneNumber: {
      schema: phoneNumberSchema,
      parse: (value: JsonValue) => parsePhoneNumber(plain('mobilePhoneNumber', value)),
      isRemovable: true,
      takenError: 'PHONE_TAKEN',
      query: { type: 'text', isNullable: true, isUnique: true, storedForm: internationalForm },
      isContact: true,
    },
    mobilePhoneVerified: {
      schema: z.boolean(),
      parse: (value: JsonValue) => parseFlag('mobilePhoneVerified', value),
      isForMaster: true,
      query: { type: 'boolean' },
    },
    authData: {
      schema: linkedAuthData,
      parse: refuseAuthData,
      partError: 'INVALID_IDENTITY',
      present: presentAuthData,
    },
  },
  isPrincipal: true,
  reserved: ['sessionToken', 'salt'],
});

export type UserChanges = Omit<ObjectChanges<(typeof userClass)['definition']['fields']>, 'authData'>;

/** The member of an entry that holds its id. Mini programs send a code; their stored entries have the id under both names. */
const ID_MEMBERS: Readonly<Record<PlatformKind, 'openid' | 'uid' | 'either'>> = {
  weixin: 'openid',
  weibo: 'uid',
  qq: 'openid',
  taptap: 'openid',
  lc_apple: 'uid',
  lc_weapp: 'either',
  lc_qqapp: 'either',
  lc_baidu: 'either',
  lc_alipay: 'either',
  lc_tt: 'either',
};

/** The kind of a known key of `authData`, or of an application's own key whose `platform` names a known one (decisions). */
export function kindOfEntry(platform: string, entry: JsonObject): PlatformKind | undefined {
  const named = platform === ANONYMOUS_PLATFORM ? undefined : entry['platform'];
  return [platform, named]
    .map((name) => PLATFORM_KINDS.find((kind) => kind === name))
    .find((kind) => kind !== undefined);
}

/** The id of the account in an entry of `authData`. docs/decisions.md, "Third-party accounts", states the rules. */
export function uidOfEntry(platform: string, kind: PlatformKind | undefined, entry: JsonObject): JsonValue | undefined {
  const { uid, openid, id } = entry;
  if (platform === ANONYMOUS_PLATFORM) return id;
  if (kind === undefined || ID_MEMBERS[kind] === 'uid') return uid;
  return ID_MEMBERS[kind] === 'openid' && platform === kind ? openid : (uid ?? openid);
}

export function isUid(value: JsonValue | undefined): value is string {
  return typeof value === 'string' && value.trim() !== '' && value.length <= MAX_UID_LENGTH && isStorableText(value);
}
