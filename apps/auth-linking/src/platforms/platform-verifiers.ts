import { createHmac, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import type { PlatformCredentials, PlatformKind } from '#contracts';
import type { AppError } from '#errors';
import { AppleVerifier } from './apple.verifier.js';
import {
  ALIPAY_URL,
  BAIDU_URL,
  QQAPP_URL,
  TT_URL,
  WEAPP_URL,
  verifyAlipay,
  verifyBaidu,
  verifyTt,
  verifyWechatSession,
} from './mini-program.verifiers.js';
import {
  type PlatformEndpoint,
  PlatformHttp,
  responseErrorCode,
  responseId,
  responseOptionalText,
  verificationDeadline,
  type Verify,
} from './platform-http.js';
import {
  type Claim,
  type PlatformVerifier,
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

// WeChat, by the user's profile (GET /sns/userinfo), or where the token opens none, by its validity for the openid (GET /sns/auth), which
// gives no union id. An openid belongs to one app, so the token of another app never confirms one of ours.
const verifyWeixin: Verify<'weixin'> = async (endpoint, claim) => {
  const { kind } = endpoint;
  const openid = requireUid(claim);
  const query = { access_token: requireToken(kind, claim, 'access_token'), openid };
  const deadline = verificationDeadline();
  const { errcode, openid: id, unionid } = await askWeixin(endpoint, endpoint.url('/sns/userinfo', query), deadline);
  if (errcode !== WEIXIN_NO_PROFILE) return proofOf(kind, claim, { id, unionId: unionid });
  const validity = await askWeixin(endpoint, endpoint.url('/sns/auth', query), deadline);
  if (validity.errcode === WEIXIN_NO_PROFILE) throw unknownToken();
  if (validity.status !== 200 || validity.errcode !== '0')
    throw unavailable(kind, `status ${validity.status}, errcode ${validity.errcode ?? 'missing'}`);
  return { uid: openid };
};

async function askWeixin(endpoint: PlatformEndpoint, url: URL, deadline: AbortSignal) {
  const { status, body } = await endpoint.get(url, {}, deadline);
  const answer = weixinUserInfo.parse(body);
  const { errcode = '0' } = answer;
  if (WEIXIN_TRANSIENT.has(errcode)) throw unavailable(endpoint.kind, `errcode ${errcode}`);
  if (errcode !== '0' && errcode !== WEIXIN_NO_PROFILE) throw unknownToken();
  return { ...answer, status };
}

function unknownToken(): AppError {
  return refusal('weixin', 'the platform does not know the access token and openid');
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
const verifyWeibo: Verify<'weibo'> = async (endpoint, claim, { appKey }) => {
  const { kind } = endpoint;
  requireUid(claim);
  const accessToken = requireToken(kind, claim, 'access_token');
  const url = endpoint.url('/oauth2/get_token_info');
  const { status, body } = await endpoint.postForm(url, { access_token: accessToken });
  const { error_code: code, uid, appkey, expire_in: seconds = 0 } = weiboTokenInfo.parse(body);
  if (code !== undefined && WEIBO_TRANSIENT.has(code)) throw unavailable(kind, `error_code ${code}`);
  if (code !== undefined || status !== 200) {
    throw refusal(kind, 'the platform does not know the access token');
  }
  if (appkey !== appKey) throw refusal(kind, 'the access token is for another app');
  // NaN counts as expired too.
  if (!(seconds > 0)) throw refusal(kind, 'the access token has expired');
  return proofOf(kind, claim, { id: uid });
};

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
const verifyQq: Verify<'qq'> = async (endpoint, claim, { appId }) => {
  const { kind } = endpoint;
  requireUid(claim);
  const accessToken = requireToken(kind, claim, 'access_token');
  const { error, client_id: clientId, openid, unionid } = await askQq(endpoint, accessToken);
  if (error !== undefined && error !== '0') throw refusal(kind, 'the platform does not know the access token');
  if (clientId !== appId) throw refusal(kind, 'the access token is for another app');
  return proofOf(kind, claim, { id: openid, unionId: unionid });
};

async function askQq(endpoint: PlatformEndpoint, accessToken: string): Promise<z.output<typeof qqUser>> {
  const deadline = verificationDeadline();
  // Without `fmt` the response is a script.
  const query = { access_token: accessToken, fmt: 'json' };
  const response = await endpoint.get(endpoint.url('/oauth2.0/me', { ...query, unionid: '1' }), {}, deadline);
  const user = qqUser.parse(response.body);
  if (user.error !== QQ_NO_UNION_IDS) return user;
  return qqUser.parse((await endpoint.get(endpoint.url('/oauth2.0/me', query), {}, deadline)).body);
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
const verifyTaptap: Verify<'taptap'> = async (endpoint, claim, { clientId }) => {
  const { kind } = endpoint;
  requireUid(claim);
  const keyId = requireToken(kind, claim, 'kid');
  const macKey = requireToken(kind, claim, 'mac_key');
  if (!KEY_ID.test(keyId)) throw refusal(kind, 'kid is malformed');
  const url = endpoint.url('/account/basic-info/v1', { client_id: clientId });
  const { status, body } = await endpoint.get(url, { authorization: macToken(url, keyId, macKey) });
  const info = taptapBasicInfo.safeParse(body);
  if (status !== 200 || !info.success) throw refusal(kind, 'the platform does not know the token');
  const { openid, unionid } = info.data.data;
  return proofOf(kind, claim, { id: openid, unionId: unionid });
};

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
    const verifier = <Kind extends PlatformKind>(kind: Kind, defaultUrl: string, verify: Verify<Kind>) => {
      const endpoint = http.endpoint(kind, defaultUrl);
      return { verify: (claim: Claim, given: PlatformCredentials<Kind>) => verify(endpoint, claim, given) };
    };
    this.#verifiers = {
      weixin: verifier('weixin', WEIXIN_URL, verifyWeixin),
      weibo: verifier('weibo', WEIBO_URL, verifyWeibo),
      qq: verifier('qq', QQ_URL, verifyQq),
      taptap: verifier('taptap', TAPTAP_URL, verifyTaptap),
      lc_apple: new AppleVerifier(http),
      lc_weapp: verifier('lc_weapp', WEAPP_URL, verifyWechatSession),
      lc_qqapp: verifier('lc_qqapp', QQAPP_URL, verifyWechatSession),
      lc_baidu: verifier('lc_baidu', BAIDU_URL, verifyBaidu),
      lc_alipay: verifier('lc_alipay', ALIPAY_URL, verifyAlipay),
      lc_tt: verifier('lc_tt', TT_URL, verifyTt),
    };
  }

  of<Kind extends PlatformKind>(kind: Kind): PlatformVerifier<Kind> {
    return this.#verifiers[kind];
  }
}
