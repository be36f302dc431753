import type { ApplicationSettings, JsonObject, PlatformKind } from '#contracts';
import { appError } from '#errors';
import { type Acl, applyChanges as applyFieldChanges } from '#objects';
import type { UserChanges } from './user-changes.rules.js';

/** A user as it is stored, without its application. */
export interface UserRow {
  readonly objectId: string;
  readonly username: string;
  readonly email: string | null;
  /** null: created while verification was off, or without an address (specification, emailVerified). */
  readonly emailVerified: boolean | null;
  /** How often the address was changed: mailed links are good for one state of it. */
  readonly emailVersion: number;
  readonly mobilePhoneNumber: string | null;
  readonly mobilePhoneVerified: boolean;
  readonly passwordHash: string | null;
  /** How often the password was changed. */
  readonly passwordVersion: number;
  readonly sessionTokenHash: Buffer;
  readonly sealedSessionToken: string;
  /** What `authData` shows. null: never linked to anything. */
  readonly identities: LinkedIdentities | null;
  readonly acl: Acl | null;
  /** The custom fields. */
  readonly fields: JsonObject;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** An account on a platform that a user is linked to. */
export interface LinkedIdentity {
  readonly uid: string;
  /** Absent: a platform that we do not know. */
  readonly kind?: PlatformKind | undefined;
  /** The platform itself has confirmed it. */
  readonly isVerified: boolean;
  /** What `authData` shows. It holds the platform's tokens. */
  readonly entry: JsonObject;
  /** The entry of the union id that this account carries. That entry goes with the last account that carries it. */
  readonly unionIdEntry?: string | undefined;
}

/** What a user is linked to, by platform: the keys of `authData`. */
export type LinkedIdentities = ReadonlyMap<string, LinkedIdentity>;

type EmailState = Pick<UserRow, 'email' | 'emailVerified'>;
type PhoneState = Pick<UserRow, 'mobilePhoneNumber' | 'mobilePhoneVerified'>;
type VerificationSettings = Pick<ApplicationSettings, 'verifyEmailOnSignUp'>;

/**
 * The address and its state after a change. A new address starts as unverified where verification is on, and as null
 * where it is off; setting the address again that is there already changes nothing (specification, emailVerified).
 */
function nextEmail(current: EmailState, changes: UserChanges, settings: VerificationSettings): EmailState {
  const email = changes.email === undefined ? current.email : changes.email;
  if (email === null) return { email, emailVerified: null };
  const unknown = settings.verifyEmailOnSignUp ? false : null;
  const kept = email === current.email ? current.emailVerified : unknown;
  return { email, emailVerified: changes.emailVerified ?? kept };
}

/** The phone number and its state after a change: another number is unverified. */
function nextPhone(current: PhoneState, changes: UserChanges): PhoneState {
  const number = changes.mobilePhoneNumber === undefined ? current.mobilePhoneNumber : changes.mobilePhoneNumber;
  const kept = number !== null && number === current.mobilePhoneNumber && current.mobilePhoneVerified;
  return { mobilePhoneNumber: number, mobilePhoneVerified: number !== null && (changes.mobilePhoneVerified ?? kept) };
}

/**
 * The user with the changes applied. Password, session token and `updatedAt` are the caller's to replace.
 * @throws AppError INCORRECT_TYPE where an operation does not fit what is stored
 */
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

/** Counts changes of the address and of the password: every link that was mailed before one dies with it. */
export function countChanges(before: UserRow, after: UserRow): Versions {
  return {
    emailVersion: before.emailVersion + Number(after.email !== before.email),
    passwordVersion: before.passwordVersion + Number(after.passwordHash !== before.passwordHash),
  };
}

/** What everybody may change of an object, and when it was changed. */
const CONTENT: ReadonlySet<string> = new Set<keyof UserRow>(['acl', 'fields', 'updatedAt']);

/** Whether nothing but fields and ACL differ. */
export function changesContentOnly(before: UserRow, after: UserRow): boolean {
  const names = Object.keys(after) as (keyof UserRow)[];
  return names.every((name) => CONTENT.has(name) || after[name] === before[name]);
}

const LOGIN_RECORD_INTERVAL_MS = 60_000;

/**
 * Whether a login that brings nothing new moves `updatedAt` (decisions, updatedAt of a login). A write for every login would
 * cost more than all the rest of it; a new user's first login always counts.
 */
export function isLoginRecordDue(
  { createdAt, updatedAt }: { readonly createdAt: Date; readonly updatedAt: Date },
  now: Date,
): boolean {
  return updatedAt <= createdAt || now.getTime() - updatedAt.getTime() >= LOGIN_RECORD_INTERVAL_MS;
}

/** @throws AppError EMAIL_UNVERIFIED or PHONE_UNVERIFIED where a setting keeps such users out */
export function assertMayLogIn(user: UserRow, settings: ApplicationSettings): void {
  if (settings.forbidUnverifiedEmailLogin && user.emailVerified === false) throw appError('EMAIL_UNVERIFIED');
  if (settings.forbidUnverifiedPhoneLogin && user.mobilePhoneNumber !== null && !user.mobilePhoneVerified) {
    throw appError('PHONE_UNVERIFIED');
  }
}
