import { describe, expect, it } from 'vitest';
import type { JsonObject, PlatformKind } from '#contracts';
import { assertUnguessable, readClaim } from './claim.rules.js';

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
  ])('takes %s for the id of an anonymous user', (uid) => {
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
  ])('refuses %j for one', (uid) => {
    expect(() => {
      check(uid);
    }).toThrow(expect.objectContaining({ errorName: 'INVALID_IDENTITY' }) as Error);
  });

  it('leaves ids of platforms to the platforms', () => {
    expect(() => {
      check('1', 'github');
    }).not.toThrow();
  });
});
