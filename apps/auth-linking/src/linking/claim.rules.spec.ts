import { describe, expect, it } from 'vitest';
import type { JsonObject, PlatformKind } from '#contracts';
import { assertUnguessable, parseAuthData, readClaim, readUnionId } from './claim.rules.js';

const DELETE = { __op: 'Delete' };
const refused = (errorName: string) => expect.objectContaining({ errorName }) as Error;

describe('parseAuthData', () => {
  it('separates entries from the other fields', () => {
    const body = { color: 'red', authData: { weibo: { uid: '1' } }, 'authData.github': { uid: '2' } };
    expect(parseAuthData(body)).toEqual({
      entries: [
        ['weibo', { uid: '1' }],
        ['github', { uid: '2' }],
      ],
      removed: [],
      fields: { color: 'red' },
    });
  });

  it.each<JsonObject>([
    { 'authData.weibo': DELETE },
    { 'authData.weibo': null },
    { authData: { weibo: DELETE } },
    { authData: { weibo: null } },
  ])('reads the removal %j', (body) => {
    expect(parseAuthData(body)).toEqual({ entries: [], removed: ['weibo'], fields: {} });
  });

  it('accepts missing and empty authData', () => {
    for (const body of [{}, { authData: null }, { authData: {} }])
      expect(parseAuthData(body)).toEqual({ entries: [], removed: [], fields: {} });
  });

  it.each<[string, JsonObject]>([
    ['INCORRECT_TYPE', { authData: 'weibo' }],
    ['INCORRECT_TYPE', { authData: [{ uid: '1' }] }],
    ['INCORRECT_TYPE', { authData: DELETE }],
    ['INCORRECT_TYPE', { authData: { weibo: 'token' } }],
    ['INCORRECT_TYPE', { authData: { weibo: [] } }],
    ['INCORRECT_TYPE', { authData: { weibo: { __op: 'Increment', amount: 1 } } }],
    ['INCORRECT_TYPE', { authData: Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`p${i}`, { uid: '1' }])) }],
    ['INVALID_KEY_NAME', { authData: { constructor: { uid: '1' } } }],
    ['INVALID_KEY_NAME', { authData: { 'a b': { uid: '1' } } }],
    ['INVALID_KEY_NAME', { authData: { '': { uid: '1' } } }],
    ['INVALID_KEY_NAME', { 'authData.weibo.uid': '1' }],
    ['INVALID_KEY_NAME', { 'authData.': { uid: '1' } }],
    ['INVALID_KEY_NAME', { authData: { weibo: { uid: '1' } }, 'authData.weibo': DELETE }],
    ['OBJECT_TOO_LARGE', { authData: { weibo: { uid: '1', token: 'x'.repeat(16 * 1024) } } }],
  ])('answers %s to %j', (errorName, body) => {
    expect(() => parseAuthData(body)).toThrow(refused(errorName));
  });
});

describe('readClaim', () => {
  it.each<[string, JsonObject, PlatformKind | undefined, string | undefined]>([
    ['weixin', { openid: 'o', uid: 'u' }, 'weixin', 'o'],
    ['weixin', { uid: 'u' }, 'weixin', undefined],
    ['qq', { openid: 'o' }, 'qq', 'o'],
    ['taptap', { openid: 'o' }, 'taptap', 'o'],
    ['weibo', { uid: 'u', openid: 'o' }, 'weibo', 'u'],
    ['weibo', { uid: 12345 }, 'weibo', '12345'],
    ['lc_apple', { uid: 'u' }, 'lc_apple', 'u'],
    ['lc_weapp', { code: 'c' }, 'lc_weapp', undefined],
    ['lc_weapp', { openid: 'o' }, 'lc_weapp', 'o'],
    ['anonymous', { id: 'i', uid: 'u', platform: 'weixin' }, undefined, 'i'],
    ['github', { uid: 'u', openid: 'o' }, undefined, 'u'],
    ['github', { openid: 'o' }, undefined, undefined],
    ['github', { uid: '' }, undefined, undefined],
    ['weixin_1', { openid: 'o', platform: 'weixin' }, 'weixin', 'o'],
    ['weixin_1', { openid: 'o', uid: 'u', platform: 'weixin' }, 'weixin', 'u'],
    ['weibo_1', { openid: 'o', platform: 'weibo' }, 'weibo', undefined],
    ['mine', { uid: 'u', platform: 'other' }, undefined, 'u'],
    ['weibo', { uid: 'u', platform: 'weixin' }, 'weibo', 'u'],
  ])('reads %s %j as of kind %s with the id %s', (platform, entry, kind, uid) => {
    expect(readClaim(platform, entry)).toEqual({ platform, entry, kind, uid });
  });

  it('believes the operator, not the client, what a key is', () => {
    expect(readClaim('weixin_1', { uid: 'u' }, 'weixin').kind).toBe('weixin');
    expect(readClaim('weixin_1', { uid: 'u', platform: 'qq' }, 'weixin').kind).toBe('weixin');
  });

  it.each<[string, JsonObject]>([
    ['an operator', { uid: { $gt: '' } }],
    ['a list', { uid: ['u'] }],
    ['true', { uid: true }],
    ['a fraction', { uid: 1.5 }],
    ['a long text', { uid: 'u'.repeat(256) }],
    ['a NUL', { uid: 'u\u0000' }],
    ['a blank', { uid: ' ' }],
    ['a line of blanks', { uid: ' \t\n' }],
  ])('refuses %s as an id', (_, entry) => {
    expect(() => readClaim('github', entry)).toThrow(
      expect.objectContaining({ errorName: 'INVALID_IDENTITY' }) as Error,
    );
  });
});

describe('assertUnguessable', () => {
  const check = (uid: string, platform = 'anonymous') => {
    assertUnguessable({ platform, entry: {}, uid }, uid);
  };

  it.each([
    '0b0f9a04-2f0d-4bd6-8f9e-3a1f2d4c5b6a',
    '0b0f9a042f0d4bd68f9e3a1f2d4c5b6a',
    '0B0F9A04-2F0D-4BD6-8F9E-3A1F2D4C5B6A',
  ])('accepts %s as the id of an anonymous user', (uid) => {
    expect(() => {
      check(uid);
    }).not.toThrow();
  });

  it.each([
    '1',
    '0b0f9a042f0d4bd68f9e3a1f2d4c5b6',
    '0b0f9a042f0d4bd68f9e3a1f2d4c5b6a0',
    '0b0f9a04-2f0d4bd68f9e3a1f2d4c5b6a',
    '0b0f9a042f0d4bd68f9e3a1f2d4c5b6g',
    '{0b0f9a04-2f0d-4bd6-8f9e-3a1f2d4c5b6a}',
    '0b0f9a042f0d4bd68f9e3a1f2d4c5b6a\n',
    '０b0f9a042f0d4bd68f9e3a1f2d4c5b6a',
  ])('rejects %j as the id of an anonymous user', (uid) => {
    expect(() => {
      check(uid);
    }).toThrow(expect.objectContaining({ errorName: 'INVALID_IDENTITY' }) as Error);
  });

  it('does not check ids of platforms', () => {
    expect(() => {
      check('1', 'github');
    }).not.toThrow();
  });
});

const read = (platform: string, entry: JsonObject, proof?: { uid: string; unionId?: string }) =>
  readUnionId(readClaim(platform, entry), proof);
const weixin = { openid: 'o', unionid: 'u', platform: 'weixin' };

describe('readUnionId', () => {
  it.each<[unknown, boolean]>([
    [undefined, false],
    [null, false],
    [false, false],
    ['false', false],
    [true, true],
    ['true', true],
  ])('reads main_account %j as %s', (main, isMain) => {
    const entry = { ...weixin, ...(main === undefined ? {} : { main_account: main as boolean }) };
    expect(read('weixin', entry)).toEqual({ platform: 'weixin', uid: 'u', isMain });
  });

  it('requires the platform of the union id', () => {
    expect(read('weixin', { openid: 'o', unionid: 'u' })).toBeUndefined();
    expect(read('weixin', { openid: 'o', platform: 'weixin' })).toBeUndefined();
  });

  it('ignores union ids of unknown platforms and anonymous users', () => {
    expect(read('github', { uid: 'g', unionid: 'u', platform: 'github' })).toBeUndefined();
    expect(read('anonymous', { id: 'a', unionid: 'u', platform: 'weixin' })).toBeUndefined();
  });

  it('accepts an application’s own name, and the platform of a mini program', () => {
    expect(read('weixin', { ...weixin, platform: 'group' })?.platform).toBe('group');
    expect(read('lc_weapp', { openid: 'o', unionid: 'u', platform: 'weixin' })?.platform).toBe('weixin');
  });

  it('prefers the platform’s union id over the client’s', () => {
    expect(read('weixin', { openid: 'o', platform: 'weixin' }, { uid: 'o', unionId: 'real' })?.uid).toBe('real');
    expect(() => read('weixin', weixin, { uid: 'o', unionId: 'real' })).toThrow(refused('INVALID_IDENTITY'));
    expect(() => read('weixin', weixin, { uid: 'o' })).toThrow(refused('INVALID_IDENTITY'));
  });

  it.each<[string, string, JsonObject]>([
    ['INVALID_IDENTITY', 'weixin', { ...weixin, platform: 'qq' }],
    ['INVALID_IDENTITY', 'taptap', { ...weixin, platform: 'weixin' }],
    ['INVALID_IDENTITY', 'weixin', { ...weixin, unionid: { $ne: null } }],
    ['INCORRECT_TYPE', 'weixin', { ...weixin, platform: 'a.b' }],
    ['INCORRECT_TYPE', 'weixin', { ...weixin, platform: 'constructor' }],
    ['INCORRECT_TYPE', 'weixin', { ...weixin, platform: { $ne: null } }],
    ['INCORRECT_TYPE', 'weixin', { ...weixin, main_account: 'yes' }],
    ['INCORRECT_TYPE', 'weixin', { ...weixin, main_account: 1 }],
  ])('answers %s to %s %j', (errorName, platform, entry) => {
    expect(() => read(platform, entry)).toThrow(refused(errorName));
  });
});
