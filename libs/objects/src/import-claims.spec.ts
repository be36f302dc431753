import { describe, expect, it } from 'vitest';
import type { ImportedObject } from '#contracts';
import { claimsOf, isTokenClaim, withoutClaim } from './import-claims.js';

const USER: ImportedObject = {
  objectId: 'u1',
  createdAt: '2020-01-01T00:00:00.000Z',
  updatedAt: '2020-01-01T00:00:00.000Z',
  acl: null,
  columns: {
    ...{ username: 'ada', email: 'a@b.co', emailVerified: true },
    ...{ mobilePhoneNumber: '+8613800000000', mobilePhoneVerified: true },
  },
  fields: { deviceToken: 'no claim of a user', name: 'no claim either' },
  sessionToken: 't1',
  identities: ['weixin', '_weixin_unionid'].map((platform) => ({ platform, uid: 'x', isVerified: true, entry: {} })),
};
const FIELDS = [
  'username',
  'email',
  'mobilePhoneNumber',
  'sessionToken',
  'authData.weixin',
  'authData._weixin_unionid',
];
const fieldsOf = (object: ImportedObject) => claimsOf('_User', object).map(({ field }) => field);

describe('the unique values of an imported object', () => {
  it('of a user are names, token and linked accounts, each apart', () => {
    const claims = claimsOf('_User', USER);
    expect(claims.map(({ field }) => field)).toEqual(FIELDS);
    expect(new Set(claims.map(({ key }) => key)).size).toBe(FIELDS.length);
    expect(claims.filter(({ key }) => isTokenClaim(key)).map(({ field }) => field)).toEqual(['sessionToken']);
  });

  it('of a role are its name', () => {
    expect(claimsOf('_Role', { columns: { name: 'admin' } })).toEqual([{ field: 'name', key: 'name admin' }]);
  });

  it('of an installation are its id, and its token together with its type', () => {
    const keysFor = (deviceType: string) =>
      claimsOf('_Installation', { columns: { installationId: 'i', deviceType, deviceToken: 't' } }).map(
        ({ key }) => key,
      );
    expect(keysFor('ios').slice(0, 1)).toEqual(keysFor('android').slice(0, 1));
    expect(keysFor('ios')[1]).not.toBe(keysFor('android')[1]);
  });

  it('are none where the object has none', () => {
    expect(claimsOf('_Installation', { columns: {} })).toEqual([]);
    expect(claimsOf('_User', { columns: { username: 'a', email: null } }).map(({ field }) => field)).toEqual([
      'username',
    ]);
  });

  it.each(FIELDS)('can be taken away: %s', (field) => {
    const without = withoutClaim(USER, field);
    expect(fieldsOf(without)).toEqual(FIELDS.filter((name) => name !== field));
    expect(without.fields).toEqual(USER.fields);
  });

  it('take the state of an address or number with them, and only that', () => {
    expect(withoutClaim(USER, 'email').columns).toMatchObject({ emailVerified: null, mobilePhoneVerified: true });
    const { columns } = withoutClaim(USER, 'mobilePhoneNumber');
    expect(columns).toMatchObject({ emailVerified: true, mobilePhoneVerified: false });
  });
});
