import { describe, expect, it } from 'vitest';
import type { JsonObject } from '#contracts';
import { readClaim } from './claim.rules.js';
import { readUnionId } from './union-id.rules.js';

const read = (platform: string, entry: JsonObject, proof?: { uid: string; unionId?: string }) =>
  readUnionId(readClaim(platform, entry), proof);
const refused = (errorName: string) => expect.objectContaining({ errorName }) as Error;
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

  it('needs to be told what the union id belongs to', () => {
    expect(read('weixin', { openid: 'o', unionid: 'u' })).toBeUndefined();
    expect(read('weixin', { openid: 'o', platform: 'weixin' })).toBeUndefined();
  });

  it('knows none of other platforms and anonymous users', () => {
    expect(read('github', { uid: 'g', unionid: 'u', platform: 'github' })).toBeUndefined();
    expect(read('anonymous', { id: 'a', unionid: 'u', platform: 'weixin' })).toBeUndefined();
  });

  it('takes a name of the application’s own, and that of a mini program’s platform', () => {
    expect(read('weixin', { ...weixin, platform: 'group' })?.platform).toBe('group');
    expect(read('lc_weapp', { openid: 'o', unionid: 'u', platform: 'weixin' })?.platform).toBe('weixin');
  });

  it('believes the platform over the client', () => {
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
