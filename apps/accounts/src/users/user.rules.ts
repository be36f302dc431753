import type { ApplicationSettings } from '#contracts';
import { applyChanges as applyFieldChanges } from '#objects';
import type { UserChanges } from './user-changes.rules.js';
import type { UserRow } from './user.row.js';

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
