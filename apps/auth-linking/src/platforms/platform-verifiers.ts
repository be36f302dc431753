import { createHmac, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import type { PlatformCredentials, PlatformKind } from '#contracts';
import type { AppError } from '#errors';
import { AppleVerifier } from './apple.verifier.js';
import { AlipayVerifier, BaiduVerifier, QqappVerifier, TtVerifier, WeappVerifier } from './mini-program.verifiers.js';
import {
  type PlatformEndpoint,
  PlatformHttp,
  responseErrorCode,
  responseId,
  responseOptionalText,
  verificationDeadline,
} from './platform-http.js';
import {
  type Claim,
  type PlatformVerifier,
  type Proof,
  proofOf,
  refusal,
  requireToken,
  requireUid,
  unavailable,
} from './platform.rules.js';

const WEIXIN_URL = 'https://api.weixin.qq.com';
const WEIXIN_TRANSIENT = new Set(['-1', '45009', '45011']);

const weixinUserInfo = z.object({
  errcode: responseErrorCode,
  openid: responseId.optional().catch(undefined),
  unionid: responseOptionalText,
});

/** The token is of the scope `snsapi_base`, for logins without a question to the user: it opens no profile. */
const WEIXIN_NO_PROFILE = '48001';

/**
 * WeChat, by the user's profile (GET /sns/userinfo), or where the token opens none, by its validity for the openid (GET /sns/auth), which
 * gives no union id. The response does not name the app of the token, but an openid belongs to one app, so the token of another app never
 * confirms one of ours.
 */
export class WeixinVerifier implements PlatformVerifier<'weixin'> {
  readonly kind = 'weixin';
  private readonly endpoint: PlatformEndpoint;

  constructor(http: PlatformHttp) {
    this.endpoint = http.endpoint(this.kind, WEIXIN_URL);
  }

  async verify(claim: Claim): Promise<Proof> {
    const openid = requireUid(claim);
    const query = { access_token: requireToken(this.kind, claim, 'access_token'), openid };
    const deadline = verificationDeadline();
    const { errcode, openid: id, unionid } = await this.ask('/sns/userinfo', query, deadline);
    if (errcode !== WEIXIN_NO_PROFILE) return proofOf(this.kind, claim, { id, unionId: unionid });
    const validity = await this.ask('/sns/auth', query, deadline);
    if (validity.errcode === WEIXIN_NO_PROFILE) throw unknownToken(this.kind);
    if (validity.status !== 200 || validity.errcode !== '0')
      throw unavailable(this.kind, `status ${validity.status}, errcode ${validity.errcode ?? 'missing'}`);
    return { uid: openid };
  }

  private async ask(path: string, query: Readonly<Record<string, string>>, deadline: AbortSignal) {
    const { status, body } = await this.endpoint.get(this.endpoint.url(path, query), {}, deadline);
    const answer = weixinUserInfo.parse(body);
    const { errcode = '0' } = answer;
    if (WEIXIN_TRANSIENT.has(errcode)) throw unavailable(this.kind, `errcode ${errcode}`);
    if (errcode !== '0' && errcode !== WEIXIN_NO_PROFILE) throw unknownToken(this.kind);
    return { ...answer, status };
  }
}

function unknownToken(kind: 'weixin'): AppError {
  return refusal(kind, 'the platform does not know the access token and openid');
}

const WEIBO_URL = 'https://api.weibo.com';
const WEIBO_TRANSIENT = new Set(['10001', '10002', '10003', '10009', '10010', '10022', '10023', '10024']);

/** Documented as strings, shown as numbers. */
const weiboNumber = z.union([z.string().regex(/^\d{1,20}$/), z.int().nonnegative()]).transform(String);
const weiboTokenInfo = z.object({
  error_code: responseErrorCode,
  uid: weiboNumber.optional().catch(undefined),
  appkey: weiboNumber.optional().catch(undefined),
  expire_in: z.coerce.number().optional().catch(undefined),
});

/** POST /oauth2/get_token_info returns the user and the app of the token. A profile (`users/show`) is no proof: any token can read every profile. */
export class WeiboVerifier implements PlatformVerifier<'weibo'> {
  readonly kind = 'weibo';
  private readonly endpoint: PlatformEndpoint;

  constructor(http: PlatformHttp) {
    this.endpoint = http.endpoint(this.kind, WEIBO_URL);
  }

  async verify(claim: Claim, { appKey }: PlatformCredentials<'weibo'>): Promise<Proof> {
    requireUid(claim);
    const accessToken = requireToken(this.kind, claim, 'access_token');
    const url = this.endpoint.url('/oauth2/get_token_info');
    const { status, body } = await this.endpoint.postForm(url, { access_token: accessToken });
    const { error_code: code, uid, appkey, expire_in: seconds = 0 } = weiboTokenInfo.parse(body);
    if (code !== undefined && WEIBO_TRANSIENT.has(code)) throw unavailable(this.kind, `error_code ${code}`);
    if (code !== undefined || status !== 200) {
      throw refusal(this.kind, 'the platform does not know the access token');
    }
    if (appkey !== appKey) throw refusal(this.kind, 'the access token is for another app');
    // NaN counts as expired too.
    if (!(seconds > 0)) throw refusal(this.kind, 'the access token has expired');
    return proofOf(this.kind, claim, { id: uid });
  }
}

const QQ_URL = 'https://graph.qq.com';
/** The app has no permission for union ids: the platform then rejects requests for one with any token. */
const QQ_NO_UNION_IDS = '100048';

const qqUser = z.object({
  error: responseErrorCode,
  client_id: z.union([z.string(), z.int()]).transform(String).optional().catch(undefined),
  openid: responseId.optional().catch(undefined),
  unionid: responseOptionalText,
});

/** QQ, by the user and the app of the token (GET /oauth2.0/me). */
export class QqVerifier implements PlatformVerifier<'qq'> {
  readonly kind = 'qq';
  private readonly endpoint: PlatformEndpoint;

  constructor(http: PlatformHttp) {
    this.endpoint = http.endpoint(this.kind, QQ_URL);
  }

  async verify(claim: Claim, { appId }: PlatformCredentials<'qq'>): Promise<Proof> {
    requireUid(claim);
    const accessToken = requireToken(this.kind, claim, 'access_token');
    const { error, client_id: clientId, openid, unionid } = await this.ask(accessToken);
    if (error !== undefined && error !== '0') throw refusal(this.kind, 'the platform does not know the access token');
    if (clientId !== appId) throw refusal(this.kind, 'the access token is for another app');
    return proofOf(this.kind, claim, { id: openid, unionId: unionid });
  }

  private async ask(accessToken: string): Promise<z.output<typeof qqUser>> {
    const deadline = verificationDeadline();
    // Without `fmt` the response is a script.
    const query = { access_token: accessToken, fmt: 'json' };
    const response = await this.endpoint.get(
      this.endpoint.url('/oauth2.0/me', { ...query, unionid: '1' }),
      {},
      deadline,
    );
    const user = qqUser.parse(response.body);
    if (user.error !== QQ_NO_UNION_IDS) return user;
    return qqUser.parse((await this.endpoint.get(this.endpoint.url('/oauth2.0/me', query), {}, deadline)).body);
  }
}

/** For apps in China; all others use https://open.tapapis.com. */
const TAPTAP_URL = 'https://open.tapapis.cn';
const NONCE_BYTES = 12;
/** Characters that are safe between the quotes of a header parameter. */
const KEY_ID = /^[A-Za-z0-9._~+/=-]+$/;

const taptapBasicInfo = z.object({
  success: z.literal(true),
  data: z.object({ openid: responseId, unionid: responseOptionalText }),
});

/** GET /account/basic-info/v1. The MAC key is never sent: it signs the request with the client id in it. An openid belongs to one client. */
export class TaptapVerifier implements PlatformVerifier<'taptap'> {
  readonly kind = 'taptap';
  private readonly endpoint: PlatformEndpoint;

  constructor(http: PlatformHttp) {
    this.endpoint = http.endpoint(this.kind, TAPTAP_URL);
  }

  async verify(claim: Claim, { clientId }: PlatformCredentials<'taptap'>): Promise<Proof> {
    requireUid(claim);
    const keyId = requireToken(this.kind, claim, 'kid');
    const macKey = requireToken(this.kind, claim, 'mac_key');
    if (!KEY_ID.test(keyId)) throw refusal(this.kind, 'kid is malformed');
    const url = this.endpoint.url('/account/basic-info/v1', { client_id: clientId });
    const { status, body } = await this.endpoint.get(url, { authorization: macToken(url, keyId, macKey) });
    const info = taptapBasicInfo.safeParse(body);
    if (status !== 200 || !info.success) throw refusal(this.kind, 'the platform does not know the token');
    const { openid, unionid } = info.data.data;
    return proofOf(this.kind, claim, { id: openid, unionId: unionid });
  }
}

function macToken(url: URL, keyId: string, macKey: string): string {
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const nonce = randomBytes(NONCE_BYTES).toString('base64url');
  const port = url.port === '' ? defaultPort(url) : url.port;
  const signed = [timestamp, nonce, 'GET', `${url.pathname}${url.search}`, url.hostname, port, '', ''].join('\n');
  const mac = createHmac('sha1', macKey).update(signed).digest('base64');
  return `MAC id="${keyId}",ts="${timestamp}",nonce="${nonce}",mac="${mac}"`;
}

function defaultPort({ protocol }: URL): string {
  return protocol === 'https:' ? '443' : '80';
}

@Injectable()
export class PlatformVerifiers {
  readonly #verifiers: { readonly [Kind in PlatformKind]: PlatformVerifier<Kind> };

  constructor(http: PlatformHttp) {
    this.#verifiers = {
      weixin: new WeixinVerifier(http),
      weibo: new WeiboVerifier(http),
      qq: new QqVerifier(http),
      taptap: new TaptapVerifier(http),
      lc_apple: new AppleVerifier(http),
      lc_weapp: new WeappVerifier(http),
      lc_qqapp: new QqappVerifier(http),
      lc_baidu: new BaiduVerifier(http),
      lc_alipay: new AlipayVerifier(http),
      lc_tt: new TtVerifier(http),
    };
  }

  of<Kind extends PlatformKind>(kind: Kind): PlatformVerifier<Kind> {
    return this.#verifiers[kind];
  }
}
