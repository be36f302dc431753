import { describe, expect, it } from 'vitest';
import type { JsonObject, PlatformKind } from '#contracts';
import { readClaim } from './claim.rules.js';

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
  ])('refuses %s as an id', (_, entry) => {
    expect(() => readClaim('github', entry)).toThrow(
      expect.objectContaining({ errorName: 'INVALID_IDENTITY' }) as Error,
    );
  });
});
