import { describe, expect, it } from 'vitest';
import type { ClassName, ImportedIdentity, JsonObject, JsonValue } from '#contracts';
import { parseImportedRow } from './imported-object.js';

const TIMES = { createdAt: '2019-02-23T09:04:21.137Z', updatedAt: '2026-09-30T11:22:33.444Z' };

function parsed(className: ClassName, row: JsonObject) {
  const result = parseImportedRow(className, { objectId: 'o1', ...TIMES, ...row });
  if ('refused' in result) throw new Error(`the row is refused: ${JSON.stringify(result.refused)}`);
  return { ...result, fieldsNoted: result.notes.map(({ field }) => field) };
}
const linked = (authData: JsonValue) => parsed('_User', { username: 'ada', authData });
const withoutEntry = ({ entry: _, ...identity }: ImportedIdentity) => identity;

describe('the linked accounts of an exported user', () => {
  it('are those of the union id, of Apple, and none for null', () => {
    const authData = {
      weixin_app: {
        ...{ platform: 'weixin', openid: 'oTY851', uid: 'oTY851', unionid: 'ox7NLs', access_token: '10_CCC' },
        ...{ expires_in: 7200, main_account: true },
      },
      _weixin_unionid: { uid: 'ox7NLs' },
      lc_apple: { uid: '000123.0a.1234', identity_token: 'eyJ', code: 'c1' },
      qq: null,
    };
    const { object, notes } = linked(authData);
    expect(notes).toEqual([]);
    expect(object.identities).toEqual([
      {
        ...{ platform: 'weixin_app', uid: 'oTY851', kind: 'weixin', isVerified: true },
        ...{ entry: authData.weixin_app, unionIdEntry: '_weixin_unionid' },
      },
      { platform: '_weixin_unionid', uid: 'ox7NLs', kind: 'weixin', isVerified: true, entry: { uid: 'ox7NLs' } },
      { platform: 'lc_apple', uid: '000123.0a.1234', kind: 'lc_apple', isVerified: true, entry: authData.lc_apple },
    ]);
  });

  it.each([
    ['weixin', { openid: 'o', access_token: 't' }, 'o', true],
    ['qq', { openid: 'o', access_token: 't' }, 'o', true],
    ['weibo', { uid: 'u', access_token: 't' }, 'u', true],
    ['weibo', { uid: 1234567890, access_token: 't' }, '1234567890', true],
    ['lc_weapp', { openid: 'o', session_key: 'k' }, 'o', true],
    ['taptap', { kid: '1/a', openid: 'u3v5w7x9y1z3a5b7c9d1eA==', unionid: 'm1==' }, 'u3v5w7x9y1z3a5b7c9d1eA==', true],
    ['taptap', { kid: '1/a', uid: 'u3v5' }, 'u3v5', true],
    ['anonymous', { id: '2b6f0c4e-1d3a-4c5b-9e8f-7a6b5c4d3e2f' }, '2b6f0c4e-1d3a-4c5b-9e8f-7a6b5c4d3e2f', false],
    ['my_game', { uid: 'u', access_token: 't' }, 'u', false],
    ['my_game', { openid: 'o' }, 'o', false],
  ])('of %s with %j are known by %s', (platform, entry, uid, isVerified) => {
    const { object, notes } = linked({ [platform]: entry });
    expect(notes).toEqual([]);
    expect(object.identities?.map(({ platform: name, uid: id }) => [name, id])).toEqual([[platform, uid]]);
    expect(object.identities?.[0]).toMatchObject({ isVerified, entry });
  });

  it('give a union id the platform that the carrier names', () => {
    const { object } = linked({ mini: { platform: 'lc_weapp', openid: 'o' }, _lc_weapp_unionid: { uid: 'x' } });
    expect(object.identities?.map(withoutEntry)).toEqual([
      { platform: 'mini', uid: 'o', kind: 'lc_weapp', isVerified: true, unionIdEntry: '_lc_weapp_unionid' },
      { platform: '_lc_weapp_unionid', uid: 'x', kind: 'weixin', isVerified: true },
    ]);
  });

  it('of an unknown union platform are not verified', () => {
    const { object } = linked({ _other_unionid: { uid: 'x' } });
    expect(object.identities?.map(withoutEntry)).toEqual([{ platform: '_other_unionid', uid: 'x', isVerified: false }]);
  });

  it.each([
    ['weixin', {}],
    ['weixin', { openid: '' }],
    ['weixin', { openid: ' ' }],
    ['weixin', { openid: 'x'.repeat(256) }],
    ['weixin', { openid: 'a\0b' }],
    ['weibo', { uid: 1.5 }],
    ['weibo', { uid: { a: 1 } }],
    ['weixin', 'text'],
    ['weixin', []],
    ['_weixin_unionid', {}],
    ['a-b', { uid: 'u' }],
    ['x'.repeat(65), { uid: 'u' }],
    ['constructor', { uid: 'u' }],
  ])('of %s with %j are left out', (platform, entry) => {
    const { object, fieldsNoted } = linked({ [platform]: entry as JsonValue, qq: { openid: 'o' } });
    expect(object.identities?.map((identity) => identity.platform)).toEqual(['qq']);
    expect(fieldsNoted).toEqual([`authData.${platform.slice(0, 64)}`]);
  });

  it('are at most 50', () => {
    const many = Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`p${n}`, { uid: 'u' }]));
    const { object, fieldsNoted } = linked(many);
    expect([object.identities?.length, fieldsNoted]).toEqual([50, ['authData']]);
  });

  it.each([[null], [{}], [{ weixin: null }]])('are none for %j', (authData) => {
    const { object, notes } = linked(authData);
    expect([object.identities, notes]).toEqual([undefined, []]);
  });

  it.each([['text'], [7], [[]]])('are none for %j, which is noted', (authData) => {
    expect(linked(authData)).toMatchObject({ fieldsNoted: ['authData'] });
  });
});

describe('the roles of an export', () => {
  const stubs = {
    users: { __type: 'Relation', className: '_User' },
    roles: { __type: 'Relation', className: '_Role' },
  };

  it('lose the stubs of relations, and keep the rest', () => {
    const { object, notes } = parsed('_Role', { name: 'admin', ACL: { '*': { read: true } }, level: 1, ...stubs });
    expect(notes).toEqual([]);
    expect(object).toMatchObject({ columns: { name: 'admin' }, fields: { level: 1 }, acl: { '*': { read: true } } });
    expect(object).not.toHaveProperty('identities');
  });

  it('are closed where they have no ACL', () => {
    expect(parsed('_Role', { name: 'admin' })).toMatchObject({ object: { acl: {} }, fieldsNoted: ['ACL'] });
  });

  it.each([[undefined], [''], ['a b:c'], [7]])('are refused with the name %j', (name) => {
    const row = { objectId: 'r1', ...TIMES, ...(name === undefined ? {} : { name }) };
    expect(parseImportedRow('_Role', row)).toMatchObject({ objectId: 'r1', refused: { field: 'name' } });
  });
});

describe('the installations of an export', () => {
  it('keep vendor and registration beside id, type, channels and state', () => {
    const row = {
      ...{ installationId: '0f3c', deviceType: 'android', vendor: 'HMS', registrationId: 'AAxx', channels: ['news'] },
      ...{ valid: true, timeZone: 'Asia/Shanghai', ACL: { '*': { read: true, write: true } } },
    };
    const { object, notes } = parsed('_Installation', row);
    expect(notes).toEqual([]);
    expect({ ...object.columns, ...object.fields }).toMatchObject({
      ...{ installationId: '0f3c', deviceType: 'android', vendor: 'HMS', registrationId: 'AAxx' },
      ...{ channels: ['news'], valid: true, timeZone: 'Asia/Shanghai' },
    });
    expect(object.updatedAt).toBe(TIMES.updatedAt);
  });

  it('keep columns that are credentials of users only', () => {
    const authData = { weixin: { openid: 'o' } };
    const own = { password: 'p', salt: 's', bcryptPassword: 'b', sessionToken: 't', authData };
    const { object, notes } = parsed('_Installation', { deviceType: 'ios', installationId: '0f3c', ...own });
    expect([object.fields, notes]).toEqual([own, []]);
    expect(object.sessionToken).toBeUndefined();
  });

  it('are known by the token of a provider', () => {
    const { object } = parsed('_Installation', { deviceType: 'ios', deviceToken: 'b39f', apnsTopic: 'com.example' });
    expect([object.columns, object.fields]).toMatchObject([
      { deviceType: 'ios', deviceToken: 'b39f' },
      { apnsTopic: 'com.example' },
    ]);
  });

  it.each([
    ['installationId', { deviceType: 'ios' }],
    ['deviceType', { deviceToken: 'b39f' }],
    ['deviceType', { deviceToken: 'b39f', deviceType: 'a b' }],
    ['installationId', { installationId: '' }],
    ['installationId', { installationId: 'x'.repeat(129) }],
  ])('are refused without %s: %j', (field, row) => {
    expect(parseImportedRow('_Installation', { objectId: 'i1', ...TIMES, ...row })).toMatchObject({
      refused: { field },
    });
  });

  it.each([
    ['all', ['a b'], {}],
    ['some', ['news', 'user.1', 7, ''], { channels: ['news', ''] }],
  ])('lose invalid names of channels: %s', (_, channels, fields) => {
    const { object, fieldsNoted } = parsed('_Installation', { installationId: 'i', channels });
    expect([object.fields, fieldsNoted]).toEqual([fields, ['channels']]);
  });
});
