import type { ApplicationSettings, JsonObject, PlatformKind, VisibleUser } from '#contracts';
import { appError } from '#errors';
import {
  type Acl,
  applyChanges as applyFieldChanges,
  isAbsent,
  type ObjectView,
  type UserChanges,
  userClass,
} from '#objects';
import type { UserEntity } from './user.entity.js';

type UserColumns = Omit<UserEntity, 'appId' | 'acl' | 'fields' | 'sealedIdentities'>;

/** A stored user: the columns of its entity, with the linked accounts opened. */
export interface UserRow extends Readonly<UserColumns> {
  /** The entries of `authData`. null: never linked. */
  readonly identities: LinkedIdentities | null;
  readonly acl: Acl | null;
  readonly fields: JsonObject;
}

/** Columns that no answer shows: only logins, changes and imports read them. */
export const INTERNAL_COLUMNS = [
  'passwordHash',
  'sealedSessionToken',
  'emailVersion',
  'passwordVersion',
  'lastChangeAt',
  'importedPasswordHash',
  'importedTokenHash',
  'hasEarlierPassword',
  'hasEarlierToken',
] as const satisfies readonly (keyof UserColumns)[];

export type VisibleRow = Omit<UserRow, (typeof INTERNAL_COLUMNS)[number]>;

export function presentUser(user: VisibleRow, view: ObjectView): VisibleUser {
  return userClass.present(user, view) as VisibleUser;
}

export interface LinkedIdentity {
  readonly uid: string;
  /** Absent for an unknown platform. */
  readonly kind?: PlatformKind | undefined;
  readonly isVerified: boolean;
  /** The value in `authData`, with the platform's tokens. */
  readonly entry: JsonObject;
  /** The entry of the union id that this account carries. It is removed with the last account that carries it. */
  readonly unionIdEntry?: string | undefined;
  /** The union id that the account carries. Absent: the one in the entry, as for imported accounts. */
  readonly unionId?: string | undefined;
}

/** The linked accounts by platform: the keys of `authData`. */
export type LinkedIdentities = ReadonlyMap<string, LinkedIdentity>;

type EmailState = Pick<UserRow, 'email' | 'emailVerified'>;
type PhoneState = Pick<UserRow, 'mobilePhoneNumber' | 'mobilePhoneVerified'>;
type VerificationSettings = Pick<ApplicationSettings, 'verifyEmailOnSignUp'>;

/** A new address is unverified if verification is on, else null; the current one again changes nothing (specification, emailVerified). */
function nextEmail(current: EmailState, changes: UserChanges, settings: VerificationSettings): EmailState {
  const email = changes.email === undefined ? current.email : changes.email;
  if (email === null) return { email, emailVerified: null };
  const unknown = settings.verifyEmailOnSignUp ? false : null;
  const kept = email === current.email ? current.emailVerified : unknown;
  return { email, emailVerified: changes.emailVerified === undefined ? kept : changes.emailVerified };
}

function nextPhone(current: PhoneState, changes: UserChanges): PhoneState {
  const number = changes.mobilePhoneNumber === undefined ? current.mobilePhoneNumber : changes.mobilePhoneNumber;
  const kept = number !== null && number === current.mobilePhoneNumber && current.mobilePhoneVerified;
  return { mobilePhoneNumber: number, mobilePhoneVerified: number !== null && (changes.mobilePhoneVerified ?? kept) };
}

/** The caller replaces password, session token and `updatedAt`. @throws AppError INCORRECT_TYPE where an operation does not fit */
export function applyChanges(user: UserRow, changes: UserChanges, settings: VerificationSettings): UserRow {
  return {
    ...user,
    ...nextEmail(user, changes, settings),
    ...nextPhone(user, changes),
    username: changes.username ?? user.username,
    acl: changes.acl === undefined ? user.acl : changes.acl,
    fields: applyFieldChanges(user.fields, changes.custom),
  };
}

type Versions = Pick<UserRow, 'emailVersion' | 'passwordVersion'>;

/** Counts changes of the address and of the password: each change invalidates the links that were mailed before. */
export function countChanges(before: UserRow, after: UserRow): Versions {
  return {
    emailVersion: before.emailVersion + Number(after.email !== before.email),
    passwordVersion: before.passwordVersion + Number(after.passwordHash !== before.passwordHash),
  };
}

const CONTENT: ReadonlySet<string> = new Set<keyof UserRow>(['acl', 'fields', 'updatedAt', 'lastChangeAt']);

export function changesContentOnly(before: UserRow, after: UserRow): boolean {
  const names = Object.keys(after) as (keyof UserRow)[];
  return names.every((name) => CONTENT.has(name) || after[name] === before[name]);
}

const LOGIN_RECORD_INTERVAL_MS = 60_000;

/** Decisions, updatedAt of a login: a write would cost more than the rest of the login; the first one of a new user always counts. */
export function isLoginRecordDue(
  { createdAt, updatedAt }: { readonly createdAt: Date; readonly updatedAt: Date },
  now: Date,
): boolean {
  return updatedAt <= createdAt || now.getTime() - updatedAt.getTime() >= LOGIN_RECORD_INTERVAL_MS;
}

export function assertMayLogIn(user: UserRow, settings: ApplicationSettings): void {
  if (settings.forbidUnverifiedEmailLogin && user.emailVerified === false) throw appError('EMAIL_UNVERIFIED');
  if (settings.forbidUnverifiedPhoneLogin && user.mobilePhoneNumber !== null && !user.mobilePhoneVerified) {
    throw appError('PHONE_UNVERIFIED');
  }
}

/** Specification, POST /1.1/users with authData: the service generates a random username; a password is not needed. */
export function parseEntryFields({ username, password, ...others }: JsonObject, isMaster: boolean): UserChanges {
  const credentials = { ...(isAbsent(username) ? {} : { username }), ...(isAbsent(password) ? {} : { password }) };
  return userClass.parse({ ...others, ...credentials }, isMaster);
}
