import { describe, expect, it } from 'vitest';
import type { PlatformKind } from '#contracts';
import { joinCredentials, parseCredentials } from './credentials.service.js';

const refusal = (platform: string, kind: PlatformKind, fields: Record<string, string>) => {
  try {
    parseCredentials(platform, kind, fields);
  } catch (error) {
    return error as Error & { errorName: string };
  }
  throw new Error('it was accepted');
};

describe('the credentials that an operator gives', () => {
  it('are split into shown and secret fields', () => {
    const fields = { clientId: 'com.shop', keyId: 'K', privateKey: 'hush' };
    const parts = parseCredentials('lc_apple', 'lc_apple', fields);
    expect(parts).toEqual({ shown: { clientId: 'com.shop', keyId: 'K' }, secrets: { privateKey: 'hush' } });
    expect(joinCredentials('lc_apple', parts)).toEqual(fields);
  });

  it.each([
    ['a field that is missing', { appId: 'wx1' }, /^appSecret: is missing$/],
    ['a field that is unknown', { appId: 'a', appSecret: 's', token: 't' }, /^lc_weapp has no field "token"/],
    ['a secret that is empty', { appId: 'wx1', appSecret: '' }, /^appSecret: /],
    ['a secret that is too long', { appId: 'wx1', appSecret: 'VALUE'.repeat(2_000) }, /^appSecret: /],
    ['an id with a line break', { appId: 'VALUE\n', appSecret: 's' }, /^appId: must be/],
    ['nothing at all', {}, /^appId: is missing$/],
  ])('%s is refused by its name, and not by its value', (_, fields, text) => {
    const error = refusal('lc_weapp', 'lc_weapp', fields);
    expect(error.errorName).toBe('INCORRECT_TYPE');
    expect(error.message).toMatch(text);
    expect(error.message).not.toContain('VALUE');
  });

  it('name at least one client of Apple', () => {
    expect(refusal('lc_apple', 'lc_apple', { clientId: ' , ' }).message).toBe('clientId: must name an id');
  });

  it('have the kind of the platform if its name is a kind', () => {
    expect(refusal('weixin', 'qq', { appId: 'a' }).message).toMatch(/"weixin" is a platform of its own/);
    for (const key of ['_weixin_unionid', 'anonymous'])
      expect(refusal(key, 'weixin', { appId: 'a' }).message).toBe(`"${key}" is not a third-party platform.`);
    expect(parseCredentials('weixin_tv', 'weixin', { appId: 'a' }).shown).toEqual({ appId: 'a' });
  });

  it.each(['weixin', 'no_such_kind', '__proto__', 'toString'])(
    'stored without the fields of the kind %s, they are an error',
    (kind) => {
      expect(() => joinCredentials(kind, { shown: {}, secrets: {} })).toThrow(/are not credentials of the kind/);
    },
  );
});
