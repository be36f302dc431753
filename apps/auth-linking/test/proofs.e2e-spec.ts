import { describe, expect, it } from 'vitest';
import type { JsonObject } from '#contracts';
import { unique } from '#testing';
import { useVerifiers } from './use-verifiers.js';

const INVALID = { errorName: 'INVALID_IDENTITY', code: 251, status: 400 };
const INVALID_WEIXIN = { errorName: 'INVALID_WEIXIN_IDENTITY', code: 252, status: 400 };
const anyText = expect.any(String) as string;
const aboutAnotherApp = expect.stringMatching(/another app/) as string;

describe('accounts with an access token', () => {
  const verifiers = useVerifiers();
  const account = () => ({ openid: unique('openid'), unionid: unique('unionid') });

  it('weixin confirms its user and the union id', async () => {
    const { server, verify } = verifiers();
    const { openid, unionid } = account();
    const entry = { ...server.weixin.issueToken({ openid, unionid }), unionid: 'made up' };
    expect(await verify('weixin', entry)).toEqual({ uid: openid, unionId: unionid });
    expect(await verify('weixin', server.weixin.issueToken({ openid }))).toEqual({ uid: openid });
  });

  it('weixin confirms its user by a token that opens no profile, and refuses it for another user', async () => {
    const { server, verify } = verifiers();
    const entry = server.weixin.issueToken({ ...account(), scope: 'snsapi_base' });
    expect(await verify('weixin', entry)).toEqual({ uid: entry.openid });
    await expect(verify('weixin', { ...entry, openid: 'victim' })).rejects.toMatchObject(INVALID_WEIXIN);
    server.weixin.withdraw(entry.access_token);
    await expect(verify('weixin', entry)).rejects.toMatchObject(INVALID_WEIXIN);
  });

  it.each<[string, { status?: number; body: JsonObject }]>([
    ['without an errcode', { body: {} }],
    ['of a proxy, without an errcode', { status: 404, body: { error: 'not found' } }],
    ['of another status than 200', { status: 400, body: { errcode: 0, errmsg: 'ok' } }],
  ])('weixin is unavailable where the validity of such a token has an answer %s', async (_, validity) => {
    const { server, verify } = verifiers();
    const usual = server.weixin.validity;
    server.weixin.validity = validity;
    const verified = verify('weixin', server.weixin.issueToken({ ...account(), scope: 'snsapi_base' }));
    await expect(verified).rejects.toMatchObject({ errorName: 'SERVICE_UNAVAILABLE' });
    server.weixin.validity = usual;
  });

  it('weibo confirms its user', async () => {
    const { server, verify } = verifiers();
    expect(await verify('weibo', server.weibo.issueToken({ uid: '1073880650' }))).toEqual({ uid: '1073880650' });
  });

  it('qq confirms its user, also of an app without union ids', async () => {
    const { server, verify } = verifiers();
    const { openid, unionid } = account();
    const entry = server.qq.issueToken({ openid, unionid });
    expect(await verify('qq', entry)).toEqual({ uid: openid, unionId: unionid });
    server.qq.grantsUnionIds = false;
    expect(await verify('qq', entry)).toEqual({ uid: openid });
    server.qq.grantsUnionIds = true;
  });

  it('taptap confirms its user by a signed request without a secret', async () => {
    const { server, verify } = verifiers();
    const { openid, unionid } = account();
    const entry = server.taptap.issueToken({ openid, unionid });
    expect(await verify('taptap', { ...entry, unionid: 'made up' })).toEqual({ uid: openid, unionId: unionid });
    expect(JSON.stringify(server.calls('taptap'))).not.toContain(entry.mac_key);
  });

  it.each<[string, (entry: JsonObject) => JsonObject]>([
    ['an unknown token', (entry) => ({ ...entry, access_token: 'made-up', mac_key: 'made-up' })],
    ["another user's id", (entry) => ({ ...entry, openid: 'victim', uid: '42' })],
  ])('an entry with %s is refused', async (_, forge) => {
    const { server, verify } = verifiers();
    await expect(verify('weixin', forge(server.weixin.issueToken(account())))).rejects.toMatchObject(INVALID_WEIXIN);
    await expect(verify('weibo', forge(server.weibo.issueToken({ uid: '7' })))).rejects.toMatchObject(INVALID);
    await expect(verify('qq', forge(server.qq.issueToken(account())))).rejects.toMatchObject(INVALID);
    await expect(verify('taptap', forge(server.taptap.issueToken(account())))).rejects.toMatchObject(INVALID);
  });

  it("weibo, qq and taptap refuse another app's token", async () => {
    const { server, verify } = verifiers();
    const weibo = server.weibo.issueToken({ uid: '7', appKey: '1352222456' });
    await expect(verify('weibo', weibo)).rejects.toMatchObject({ ...INVALID, message: aboutAnotherApp });
    const qq = server.qq.issueToken({ openid: 'O', appId: '101' });
    await expect(verify('qq', qq)).rejects.toMatchObject({ ...INVALID, message: aboutAnotherApp });
    const taptap = server.taptap.issueToken(account(), 'another client');
    await expect(verify('taptap', taptap)).rejects.toMatchObject(INVALID);
  });

  it.each([0, -5])('a weibo token with %i seconds left is refused', async (secondsLeft) => {
    const { server, verify } = verifiers();
    await expect(verify('weibo', server.weibo.issueToken({ uid: '7', secondsLeft }))).rejects.toMatchObject(INVALID);
  });
});

describe('mini programs', () => {
  const verifiers = useVerifiers();
  const accounts = { openid: 'O1', unionid: 'U1' };

  it.each(['lc_weapp', 'lc_qqapp', 'lc_tt'] as const)('%s: a code proves openid and union id', async (kind) => {
    const { server, verify } = verifiers();
    const platform = { lc_weapp: server.weapp, lc_qqapp: server.qqapp, lc_tt: server.tt }[kind];
    const { additions, ...proof } = await verify(kind, { code: platform.issueCode(accounts) });
    expect(proof).toEqual({ uid: 'O1', unionId: 'U1' });
    expect(additions).toEqual({ uid: 'O1', openid: 'O1', unionid: 'U1', session_key: anyText });
  });

  it('lc_tt: an anonymous code is sent with a code, and proves nothing alone', async () => {
    const { server, verify } = verifiers();
    const entry = { code: server.tt.issueCode({ openid: 'O2' }), anonymousCode: 'device' };
    expect(await verify('lc_tt', entry)).toMatchObject({ uid: 'O2' });
    await expect(verify('lc_tt', { anonymousCode: 'device' })).rejects.toMatchObject(INVALID);
  });

  it('lc_baidu: a code proves the openid', async () => {
    const { server, verify } = verifiers();
    expect(await verify('lc_baidu', { code: server.baidu.issueCode({ openid: 'O3' }) })).toMatchObject({ uid: 'O3' });
  });

  it('lc_alipay: a code proves the user id, or the open id of newer apps', async () => {
    const { server, verify } = verifiers();
    const { privateKey } = server.alipay.credentials;
    const bare = privateKey.replaceAll(/-----.*-----|\s/g, '');
    const code = () => server.alipay.issueCode({ userId: '2088102150477652', unionid: 'U4' });
    expect(await verify('lc_alipay', { code: code() })).toEqual({
      uid: '2088102150477652',
      unionId: 'U4',
      additions: {
        uid: '2088102150477652',
        openid: '2088102150477652',
        unionid: 'U4',
        access_token: anyText,
        expires_in: 3_600,
      },
    });
    expect(await verify('lc_alipay', { code: code() }, { credentials: { privateKey: bare } })).toMatchObject({
      unionId: 'U4',
    });
    const newer = { code: server.alipay.issueCode({ openId: '074a1CcTG1LelxKe4xQC0zg' }) };
    expect(await verify('lc_alipay', newer)).toMatchObject({ uid: '074a1CcTG1LelxKe4xQC0zg' });
  });
});

describe('Sign in with Apple', () => {
  const verifiers = useVerifiers();

  it('an identity token, or a code, proves the user', async () => {
    const { server, verify } = verifiers();
    const identity_token = await server.apple.identityToken({ sub: 'S1', email: 'ada@example.com' });
    expect(await verify('lc_apple', { uid: 'S1', identity_token })).toEqual({ uid: 'S1' });
    expect(await verify('lc_apple', { uid: 'S2', code: await server.apple.issueCode({ sub: 'S2' }) })).toEqual({
      uid: 'S2',
    });
  });
});
