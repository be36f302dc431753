import { describe, expect, it } from 'vitest';
import { userRow } from '../../test/stored.js';
import { presentUser } from './user.rules.js';

const TIME = new Date('2026-01-01T00:00:00.123Z');
const user = userRow({
  objectId: 'id',
  username: 'ada',
  email: 'ada@example.com',
  mobilePhoneNumber: '+8613912345678',
  passwordHash: 'HASH',
  sessionTokenHash: Buffer.from('TOKEN HASH'),
  sealedSessionToken: 'SEALED',
  acl: { '*': { read: true } },
  fields: { color: 'red' },
  createdAt: TIME,
  updatedAt: TIME,
});
const keysOf = (...args: Parameters<typeof presentUser>) => Object.keys(presentUser(...args)).sort();
const OTHERS = [
  'color',
  'createdAt',
  'email',
  'emailVerified',
  'mobilePhoneNumber',
  'mobilePhoneVerified',
  'objectId',
  'updatedAt',
  'username',
];

describe('presentUser', () => {
  it.each<[string, Parameters<typeof presentUser>[1], string[]]>([
    ['others', { viewer: 'other' }, OTHERS],
    [
      'others, contact hidden',
      { viewer: 'other', hideContact: true },
      OTHERS.filter((key) => key !== 'email' && key !== 'mobilePhoneNumber'),
    ],
    ['others, with the ACL', { viewer: 'other', returnAcl: true }, ['ACL', ...OTHERS]],
    ['the owner', { viewer: 'owner' }, ['ACL', ...OTHERS]],
    ['the owner, contact hidden from others', { viewer: 'owner', hideContact: true }, ['ACL', ...OTHERS]],
    ['the owner, with the token', { viewer: 'owner', sessionToken: 't' }, ['ACL', ...OTHERS, 'sessionToken'].sort()],
    ['the master key', { viewer: 'master' }, ['ACL', ...OTHERS]],
  ])('shows to %s just what they may see', (_, view, keys) => {
    expect(keysOf(user, view)).toEqual(keys);
  });

  it('never shows hashes or sealed texts', () => {
    for (const viewer of ['owner', 'master', 'other'] as const) {
      expect(JSON.stringify(presentUser(user, { viewer, returnAcl: true }))).not.toMatch(/HASH|SEALED/);
    }
  });

  it('lets no custom field replace a built-in one', () => {
    const forged = {
      ...user,
      fields: { objectId: 'forged', username: 'forged', emailVerified: true, createdAt: 'forged' },
    };
    expect(presentUser(forged, { viewer: 'other' })).toMatchObject({
      objectId: 'id',
      username: 'ada',
      emailVerified: null,
      createdAt: TIME.toISOString(),
    });
  });

  it('leaves out address and number where there are none, and shows times with milliseconds', () => {
    const shown = presentUser({ ...user, email: null, mobilePhoneNumber: null }, { viewer: 'owner' });
    expect('email' in shown || 'mobilePhoneNumber' in shown).toBe(false);
    expect(shown['createdAt']).toBe('2026-01-01T00:00:00.123Z');
  });
});
