import { describe, expect, it } from 'vitest';
import type { PlatformKind } from '#contracts';
import { joinCredentials, parseCredentials } from './credentials.rules.js';

const refusal = (platform: string, kind: PlatformKind, fields: Record<string, string>) => {
  try {
    parseCredentials(platform, kind, fields);
  } catch (error) {
    return error as Error & { errorName: string };
  }
  throw new Error('it was accepted');
};

describe('the credentials that an operator gives', () => {
  it('are cut into what may be shown and what is secret', () => {
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

  it('name one client of Apple at least', () => {
    expect(refusal('lc_apple', 'lc_apple', { clientId: ' , ' }).message).toBe('clientId: must name an id');
  });

  it('are those of the platform itself where it has the name of a kind', () => {
    expect(refusal('weixin', 'qq', { appId: 'a' }).message).toMatch(/"weixin" is a platform of its own/);
    for (const key of ['_weixin_unionid', 'anonymous'])
      expect(refusal(key, 'weixin', { appId: 'a' }).message).toBe(`"${key}" is no third-party platform.`);
    expect(parseCredentials('weixin_tv', 'weixin', { appId: 'a' }).shown).toEqual({ appId: 'a' });
  });

  it.each(['weixin', 'no_such_kind', '__proto__', 'toString'])(
    'stored as what is none of %s, they are an error',
    (kind) => {
      expect(() => joinCredentials(kind, { shown: {}, secrets: {} })).toThrow(/no credentials of the kind/);
    },
  );
});
