import { describe, expect, it } from 'vitest';
import type { MailToken } from '../messages/mail-sender.js';
import type { UserRow } from '../users/user.rules.js';
import { stateOf, withProvenAddress } from './emails.controller.js';

const NOW = new Date('2026-01-05T00:00:00.000Z');
const open = { state: 'open', canBeRenewed: false };
const expired = { state: 'expired', canBeRenewed: true };
const dead = { state: 'expired', canBeRenewed: false };
const done = { state: 'done', canBeRenewed: false };

const token: MailToken = {
  kind: 'verifyEmail',
  appId: 'app',
  userId: 'user',
  emailVersion: 1,
  passwordVersion: 1,
  expiresAt: new Date(NOW.getTime() + 1),
};
type Addressee = Parameters<typeof stateOf>[1];

const user: Addressee = { email: 'a@b.co', emailVerified: false, emailVersion: 1, passwordVersion: 1 };

describe('stateOf', () => {
  it.each<[string, Partial<MailToken>, Partial<Addressee>, object]>([
    ['is new', {}, {}, open],
    ['is about to expire', { expiresAt: new Date(NOW.getTime() + 1) }, {}, open],
    ['has just expired', { expiresAt: NOW }, {}, expired],
    ['was used', {}, { emailVerified: true }, done],
    ['was used, and its time is over', { expiresAt: NOW }, { emailVerified: true }, done],
    ['is of an address that was never asked about', {}, { emailVerified: null }, open],
    ['is of before a change of the password', {}, { passwordVersion: 2 }, open],
    ['is of before a change of the address', {}, { emailVersion: 2 }, dead],
    ['is of before two changes that led back to the address', {}, { emailVersion: 3, emailVerified: true }, dead],
    ['is of an address that was taken away', {}, { email: null, emailVersion: 2 }, dead],
  ])('of a link that verifies and %s', (_, tokenChanges, userChanges, expected) => {
    expect(stateOf({ ...token, ...tokenChanges }, { ...user, ...userChanges }, NOW)).toEqual(expected);
  });

  it.each<[string, Partial<MailToken>, Partial<Addressee>, object]>([
    ['is new', {}, {}, open],
    ['is of a verified address', {}, { emailVerified: true }, open],
    ['has just expired', { expiresAt: NOW }, {}, expired],
    ['is of before a change of the password', {}, { passwordVersion: 2 }, expired],
    ['is of before a change of the address', {}, { emailVersion: 2 }, dead],
  ])('of a link that resets and %s', (_, tokenChanges, userChanges, expected) => {
    const reset = { ...token, kind: 'resetPassword' as const, ...tokenChanges };
    expect(stateOf(reset, { ...user, ...userChanges }, NOW)).toEqual(expected);
  });
});

describe('withProvenAddress', () => {
  const row = {
    ...user,
    identities: new Map(),
    mobilePhoneNumber: '+8613912345678',
    mobilePhoneVerified: true,
    username: 'ada',
  } as unknown as UserRow;

  it('removes other credentials from an account with an unverified address', () => {
    expect(withProvenAddress(row)).toEqual({
      ...row,
      emailVerified: true,
      identities: null,
      mobilePhoneNumber: null,
      mobilePhoneVerified: false,
    });
  });

  it.each([true, null])('changes nothing where emailVerified is %s', (emailVerified) => {
    expect(withProvenAddress({ ...row, emailVerified })).toEqual({ ...row, emailVerified });
  });
});
