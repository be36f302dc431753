import { describe, expect, it } from 'vitest';
import { applicationSettings } from '#contracts';
import { userClass, type UserChanges } from '#objects';
import { userRow } from '../../test/stored.js';
import {
  applyChanges,
  changesContentOnly,
  countChanges,
  isLoginRecordDue,
  type UserRow,
  assertMayLogIn,
} from './user.rules.js';

const none = { custom: [] };
const on = { verifyEmailOnSignUp: true };
const off = { verifyEmailOnSignUp: false };
const EARLIER = new Date('2026-01-01T00:00:00.000Z');

const user = userRow({
  email: 'ada@example.com',
  emailVerified: true,
  mobilePhoneNumber: '+8613912345678',
  mobilePhoneVerified: true,
  passwordHash: 'hash',
  sealedSessionToken: '',
  fields: { color: 'red', size: 3 },
  createdAt: EARLIER,
  updatedAt: EARLIER,
});

type EmailState = Pick<UserRow, 'email' | 'emailVerified'>;
type PhoneState = Pick<UserRow, 'mobilePhoneNumber' | 'mobilePhoneVerified'>;

function nextEmail(current: EmailState, changes: UserChanges, settings: typeof on): EmailState {
  const { email, emailVerified } = applyChanges({ ...user, ...current }, changes, settings);
  return { email, emailVerified };
}

function nextPhone(current: PhoneState, changes: UserChanges): PhoneState {
  const { mobilePhoneNumber, mobilePhoneVerified } = applyChanges({ ...user, ...current }, changes, off);
  return { mobilePhoneNumber, mobilePhoneVerified };
}

describe('an address (specification, emailVerified)', () => {
  const without = { email: null, emailVerified: null };
  const verified = { email: 'a@b.co', emailVerified: true };

  it.each<[string, Parameters<typeof nextEmail>, ReturnType<typeof nextEmail>]>([
    [
      'set while verification is on',
      [without, { ...none, email: 'a@b.co' }, on],
      { email: 'a@b.co', emailVerified: false },
    ],
    [
      'set while verification is off',
      [without, { ...none, email: 'a@b.co' }, off],
      { email: 'a@b.co', emailVerified: null },
    ],
    [
      'changed while verification is on',
      [verified, { ...none, email: 'c@d.ee' }, on],
      { email: 'c@d.ee', emailVerified: false },
    ],
    [
      'changed while verification is off',
      [verified, { ...none, email: 'c@d.ee' }, off],
      { email: 'c@d.ee', emailVerified: null },
    ],
    ['changed in case only', [verified, { ...none, email: 'A@b.co' }, on], { email: 'A@b.co', emailVerified: false }],
    ['set to what it is', [verified, { ...none, email: 'a@b.co' }, on], verified],
    ['left alone', [verified, none, on], verified],
    ['removed', [verified, { ...none, email: null }, on], without],
    ['absent, and left alone', [without, none, on], without],
    ['declared verified by the master key', [without, { ...none, email: 'a@b.co', emailVerified: true }, on], verified],
    ['removed, though declared verified', [verified, { ...none, email: null, emailVerified: true }, on], without],
  ])('an address %s', (_, args, expected) => {
    expect(nextEmail(...args)).toEqual(expected);
  });
});

describe('a phone number', () => {
  const verified = { mobilePhoneNumber: '+861', mobilePhoneVerified: true };

  it.each<[string, Parameters<typeof nextPhone>, ReturnType<typeof nextPhone>]>([
    ['left alone', [verified, none], verified],
    ['set to what it is', [verified, { ...none, mobilePhoneNumber: '+861' }], verified],
    [
      'changed',
      [verified, { ...none, mobilePhoneNumber: '+862' }],
      { mobilePhoneNumber: '+862', mobilePhoneVerified: false },
    ],
    [
      'removed',
      [verified, { ...none, mobilePhoneNumber: null }],
      { mobilePhoneNumber: null, mobilePhoneVerified: false },
    ],
    [
      'removed, though declared verified',
      [verified, { ...none, mobilePhoneNumber: null, mobilePhoneVerified: true }],
      { mobilePhoneNumber: null, mobilePhoneVerified: false },
    ],
  ])('a number %s', (_, args, expected) => {
    expect(nextPhone(...args)).toEqual(expected);
  });
});

describe('applyChanges', () => {
  it('applies operations to custom fields', () => {
    const { custom } = userClass.parse(
      {
        color: 'blue',
        size: { __op: 'Increment', amount: 1 },
        'address.city': 'Ulm',
        unknown: { __op: 'Delete' },
      },
      false,
    );
    const changed = applyChanges(user, { custom }, off);
    expect(changed).toEqual({ ...user, fields: { color: 'blue', size: 4, address: { city: 'Ulm' } } });
    expect(user.fields).toEqual({ color: 'red', size: 3 });
  });

  it('refuses an operation that does not fit', () => {
    const { custom } = userClass.parse({ color: { __op: 'Increment', amount: 1 } }, false);
    expect(() => applyChanges(user, { custom }, off)).toThrow(
      expect.objectContaining({ errorName: 'INCORRECT_TYPE' }) as Error,
    );
  });

  it('never touches password and session token', () => {
    const changed = applyChanges(user, { ...none, password: 'new' }, off);
    expect([changed.passwordHash, changed.sealedSessionToken]).toEqual(['hash', '']);
  });

  it('removes an ACL only where null is given', () => {
    const withAcl = { ...user, acl: { '*': { read: true as const } } };
    expect(applyChanges(withAcl, none, off).acl).toEqual(withAcl.acl);
    expect(applyChanges(withAcl, { ...none, acl: null }, off).acl).toBeNull();
  });
});

describe('countChanges', () => {
  it.each<[string, Partial<UserRow>, object]>([
    ['of nothing', {}, { emailVersion: 0, passwordVersion: 0 }],
    ['of other fields', { username: 'eve', emailVerified: null }, { emailVersion: 0, passwordVersion: 0 }],
    ['of the address', { email: 'c@d.ee' }, { emailVersion: 1, passwordVersion: 0 }],
    ['of the address to none', { email: null }, { emailVersion: 1, passwordVersion: 0 }],
    ['of the password', { passwordHash: 'other' }, { emailVersion: 0, passwordVersion: 1 }],
    ['of both', { email: 'c@d.ee', passwordHash: null }, { emailVersion: 1, passwordVersion: 1 }],
  ])('counts a change %s', (_, changes, expected) => {
    expect(countChanges(user, { ...user, ...changes })).toEqual(expected);
  });
});

describe('changesContentOnly', () => {
  const LATER = new Date('2026-01-02T00:00:00.000Z');
  const content = { fields: { color: 'blue' }, acl: {}, updatedAt: LATER, lastChangeAt: LATER };
  const rest: Omit<UserRow, keyof typeof content> = {
    objectId: 'other',
    username: 'eve',
    email: 'c@d.ee',
    emailVerified: false,
    emailVersion: 1,
    passwordVersion: 1,
    importedPasswordHash: Buffer.alloc(1),
    importedTokenHash: Buffer.alloc(1),
    hasEarlierPassword: true,
    hasEarlierToken: true,
    mobilePhoneNumber: '+862',
    mobilePhoneVerified: false,
    passwordHash: 'other',
    sessionTokenHash: Buffer.alloc(1),
    sealedSessionToken: 'other',
    identities: new Map(),
    createdAt: LATER,
  };

  it('holds where fields, ACL and time differ', () => {
    expect(changesContentOnly(user, { ...user, ...content })).toBe(true);
  });

  it.each(Object.entries(rest))('does not hold where %s differs as well', (name, value) => {
    expect(changesContentOnly(user, { ...user, ...content, [name]: value })).toBe(false);
  });
});

const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second));

describe('isLoginRecordDue', () => {
  it('is true for the first login of a new user, however soon', () => {
    expect(isLoginRecordDue({ createdAt: at(0), updatedAt: at(0) }, at(0))).toBe(true);
  });

  it('is true once a minute from then on', () => {
    const user = { createdAt: at(0), updatedAt: at(1) };
    expect([2, 60, 61, 600].map((second) => isLoginRecordDue(user, at(second)))).toEqual([false, false, true, true]);
  });

  it('is false where another clock is ahead', () => {
    expect(isLoginRecordDue({ createdAt: at(0), updatedAt: at(9) }, at(5))).toBe(false);
  });
});

describe('assertMayLogIn', () => {
  const settings = applicationSettings.parse({});
  const unverified = { emailVerified: null, mobilePhoneNumber: null, mobilePhoneVerified: false } as UserRow;
  const outcome = (of: Partial<UserRow>, on: Partial<typeof settings>) => {
    try {
      assertMayLogIn({ ...unverified, ...of }, { ...settings, ...on });
      return 'in';
    } catch (error) {
      return (error as { errorName: string }).errorName;
    }
  };

  it.each<[Partial<UserRow>, Partial<typeof settings>, string]>([
    [{ emailVerified: false }, {}, 'in'],
    [{ emailVerified: false }, { forbidUnverifiedEmailLogin: true }, 'EMAIL_UNVERIFIED'],
    [{ emailVerified: null }, { forbidUnverifiedEmailLogin: true }, 'in'],
    [{ emailVerified: true }, { forbidUnverifiedEmailLogin: true }, 'in'],
    [{ mobilePhoneNumber: '+861' }, { forbidUnverifiedPhoneLogin: true }, 'PHONE_UNVERIFIED'],
    [{ mobilePhoneNumber: '+861', mobilePhoneVerified: true }, { forbidUnverifiedPhoneLogin: true }, 'in'],
    [{ mobilePhoneNumber: null }, { forbidUnverifiedPhoneLogin: true }, 'in'],
  ])('%j under %j: %s', (of, on, expected) => {
    expect(outcome(of, on)).toBe(expected);
  });
});
