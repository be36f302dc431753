import { generateKeyPairSync, type KeyExportOptions, type KeyObject } from 'node:crypto';
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
    const fields = { appId: 'wx1', appSecret: 'hush' };
    const parts = parseCredentials('lc_weapp', 'lc_weapp', fields);
    expect(parts).toEqual({ shown: { appId: 'wx1' }, secrets: { appSecret: 'hush' } });
    expect(joinCredentials('lc_weapp', parts)).toEqual(fields);
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

  const pem = (key: KeyObject, type: 'pkcs1' | 'pkcs8' | 'sec1' = 'pkcs8') =>
    String(key.export({ format: 'pem', type } as KeyExportOptions<'pem'>));
  const ec = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve }).privateKey;
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey;
  const ofApple = { clientId: 'com.shop', teamId: 'T', keyId: 'K', privateKey: pem(ec('P-256')) };

  it.each([
    ['an identity token alone', 'lc_apple', { clientId: 'com.shop' }],
    ['codes of Apple', 'lc_apple', ofApple],
    ['a PEM key of Alipay', 'lc_alipay', { appId: '2021', privateKey: pem(rsa, 'pkcs1') }],
    ['a Base64 key of Alipay', 'lc_alipay', { appId: '2021', privateKey: pem(rsa).replace(/-----.*-----\n/g, '') }],
  ] as const)('are accepted for %s', (_, kind, fields) => {
    expect(joinCredentials(kind, parseCredentials(kind, kind, fields))).toEqual(fields);
  });

  it.each([
    ['lc_apple', { ...ofApple, privateKey: 'this is no key' }, /^privateKey: must be the \.p8 file/],
    ['lc_apple', { ...ofApple, privateKey: pem(ec('P-384')) }, /^privateKey: .*curve P-256/],
    ['lc_apple', { ...ofApple, privateKey: pem(rsa) }, /^privateKey: .*curve P-256/],
    ['lc_apple', { clientId: 'com.shop', keyId: 'K' }, /^teamId: is missing\. Codes need teamId, keyId and privateKey/],
    ['lc_apple', { clientId: 'com.shop', teamId: 'T', keyId: 'K' }, /^privateKey: is missing/],
    ['lc_alipay', { appId: '2021', privateKey: 'this is no key' }, /^privateKey: must be the app's RSA private key/],
    ['lc_alipay', { appId: '2021', privateKey: pem(ec('P-256')) }, /^privateKey: must be the app's RSA private key/],
  ] as const)('without a usable key of %s are refused (%#)', (kind, fields, text) => {
    const error = refusal(kind, kind, fields);
    expect([error.errorName, error.message]).toEqual(['INCORRECT_TYPE', expect.stringMatching(text)]);
    expect(error.message).not.toMatch(/no key|BEGIN/);
  });

  it('are still read if they were stored without a usable key', () => {
    const stored = { shown: { clientId: 'com.shop', keyId: 'K' }, secrets: { privateKey: 'this is no key' } };
    expect(joinCredentials('lc_apple', stored)).toEqual({ ...stored.shown, ...stored.secrets });
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
