import { createSign } from 'node:crypto';
import { z } from 'zod';
import type { JsonObject, PlatformCredentials, PlatformKind } from '#contracts';
import type { AppError } from '#errors';
import { responseErrorCode, responseId, responseOptionalText, type Verify } from './platform-http.js';
import {
  type Claim,
  optionalToken,
  type Proof,
  proofOf,
  refusal,
  requireToken,
  unavailable,
} from './platform.rules.js';
import { alipayKey } from './signing-keys.js';

const miniProgramSession = z.object({
  openid: responseId,
  session_key: responseOptionalText,
  expires_in: z.int().nonnegative().optional().catch(undefined),
  unionid: responseOptionalText,
});

/** The platform is busy or limits us, our app id or secret is wrong, or our IP address is not on its list. */
const WECHAT_SERVER_ERRORS = new Set(['-1', '45009', '45011', '40013', '40125', '40164', '41002', '41004']);

const wechatFailure = z.object({ errcode: responseErrorCode });

export const WEAPP_URL = 'https://api.weixin.qq.com';
export const QQAPP_URL = 'https://api.q.qq.com';

/** Mini programs of WeChat and QQ, by the session that their code is exchanged for (GET /sns/jscode2session). */
export const verifyWechatSession: Verify<'lc_weapp' | 'lc_qqapp'> = async (endpoint, claim, { appId, appSecret }) => {
  const { kind } = endpoint;
  const code = requireToken(kind, claim, 'code');
  const query = { appid: appId, secret: appSecret, js_code: code, grant_type: 'authorization_code' };
  const { body } = await endpoint.get(endpoint.url('/sns/jscode2session', query));
  const { errcode = '0' } = wechatFailure.parse(body);
  const session = miniProgramSession.safeParse(body);
  if (errcode !== '0' || !session.success) throw noSession(kind, errcode, WECHAT_SERVER_ERRORS);
  return sessionProof(kind, claim, session.data);
};

export const BAIDU_URL = 'https://spapi.baidu.com';
/** The key or secret is wrong, or the platform is overloaded: error codes of OAuth 2.0. */
const BAIDU_SERVER_ERRORS = new Set([
  'invalid_client',
  'unauthorized_client',
  'server_error',
  'temporarily_unavailable',
]);

const baiduFailure = z.object({ error: responseErrorCode });

/** Mini programs of Baidu, by the session that their code is exchanged for (POST /oauth/jscode2sessionkey). */
export const verifyBaidu: Verify<'lc_baidu'> = async (endpoint, claim, { appKey, appSecret }) => {
  const { kind } = endpoint;
  const form = { code: requireToken(kind, claim, 'code'), client_id: appKey, sk: appSecret };
  const { status, body } = await endpoint.postForm(endpoint.url('/oauth/jscode2sessionkey'), form);
  const { error } = baiduFailure.parse(body);
  const session = miniProgramSession.safeParse(body);
  if (status !== 200 || error !== undefined || !session.success) throw noSession(kind, error, BAIDU_SERVER_ERRORS);
  return sessionProof(kind, claim, session.data);
};

export const TT_URL = 'https://developer.toutiao.com';
/** The platform is busy, or our app id or secret is wrong. */
const TT_SERVER_ERRORS = new Set(['-1', '40015', '40017']);

const ttResponse = z.object({ err_no: responseErrorCode, data: miniProgramSession.optional().catch(undefined) });

/** Douyin and Toutiao (POST /api/apps/v2/jscode2session). An anonymous code proves no user: it is sent with a code, never alone. */
export const verifyTt: Verify<'lc_tt'> = async (endpoint, claim, { appId, appSecret }) => {
  const { kind } = endpoint;
  const code = requireToken(kind, claim, 'code');
  // The SDK of mini programs uses one spelling, the platform the other.
  const anonymousCode = optionalToken(kind, claim, 'anonymousCode') ?? optionalToken(kind, claim, 'anonymous_code');
  const { body } = await endpoint.postJson(endpoint.url('/api/apps/v2/jscode2session'), {
    appid: appId,
    secret: appSecret,
    code,
    ...(anonymousCode === undefined ? {} : { anonymous_code: anonymousCode }),
  });
  const { err_no: error, data } = ttResponse.parse(body);
  if (error !== '0' || data === undefined) throw noSession(kind, error, TT_SERVER_ERRORS);
  return sessionProof(kind, claim, data);
};

interface Session {
  readonly openid: string;
  readonly unionid?: string | undefined;
  readonly [field: string]: string | number | undefined;
}

/** @param serverErrors codes that do not concern the client's code */
function noSession(kind: PlatformKind, code: string | undefined, serverErrors: ReadonlySet<string>): AppError {
  if (code !== undefined && serverErrors.has(code)) return unavailable(kind, `error ${code}`);
  return refusal(kind, 'the code is wrong, used or too old');
}

/** The client sends only a code: the entry gets the fields of the session. @throws AppError refusal if the entry names another user */
function sessionProof(kind: PlatformKind, claim: Claim, session: Session): Proof {
  const { openid, unionid } = session;
  const proof = proofOf(kind, claim, { id: openid, unionId: unionid });
  const fields = Object.entries({ uid: openid, ...session }).filter(([, value]) => value !== undefined);
  return { ...proof, additions: Object.fromEntries(fields) as JsonObject };
}

const CHINA_OFFSET_MS = 8 * 3_600_000;
export const ALIPAY_URL = 'https://openapi.alipay.com';
/** Errors of the platform (`isp`) or of our credentials, for any code. */
const ALIPAY_SERVER_ERRORS = new Set([
  'isp.unknow-error',
  'isp.unknown-error',
  'isv.app-call-limited',
  'isv.invalid-app-id',
  'isv.invalid-signature',
  'isv.missing-signature',
  'isv.missing-signature-key',
]);

const failure = z.object({ sub_code: responseErrorCode });
const session = failure
  .extend({
    user_id: responseOptionalText,
    open_id: responseOptionalText,
    union_id: responseOptionalText,
    access_token: responseOptionalText,
    expires_in: z.coerce.number().int().nonnegative().optional().catch(undefined),
  })
  .transform(({ user_id, open_id, union_id, ...rest }) => ({ ...rest, openid: user_id ?? open_id, unionid: union_id }));
const tokenResponse = z.object({
  alipay_system_oauth_token_response: session.optional().catch(undefined),
  error_response: failure.optional().catch(undefined),
});

/** Alipay (`alipay.system.oauth.token`) names users by `user_id`, for newer apps by `open_id`. TLS authenticates the response. */
export const verifyAlipay: Verify<'lc_alipay'> = async (endpoint, claim, credentials) => {
  const { kind } = endpoint;
  const code = requireToken(kind, claim, 'code');
  const form = alipayForm('alipay.system.oauth.token', { grant_type: 'authorization_code', code }, credentials);
  const { body } = await endpoint.postForm(endpoint.url('/gateway.do'), form);
  const { alipay_system_oauth_token_response: given, error_response: error } = tokenResponse.parse(body);
  if (error !== undefined || given?.openid === undefined) {
    throw noSession(kind, (error ?? given)?.sub_code, ALIPAY_SERVER_ERRORS);
  }
  const { openid, access_token, expires_in, unionid } = given;
  return sessionProof(kind, claim, { openid, access_token, expires_in, unionid });
};

/** Signed with the app's key (RSA2: SHA-256 with RSA over the sorted fields). @throws AppError SERVICE_UNAVAILABLE for an invalid key */
function alipayForm(
  method: string,
  fields: Readonly<Record<string, string>>,
  { appId, privateKey }: PlatformCredentials<'lc_alipay'>,
): Record<string, string> {
  const form: Record<string, string> = {
    ...fields,
    app_id: appId,
    method,
    format: 'JSON',
    charset: 'utf-8',
    sign_type: 'RSA2',
    timestamp: chinaTime(Date.now()),
    version: '1.0',
  };
  const signed = Object.keys(form)
    .sort()
    .map((name) => `${name}=${form[name] ?? ''}`)
    .join('&');
  const key = alipayKey(privateKey);
  if (key === undefined) throw unavailable('lc_alipay', 'the private key among our credentials is not readable');
  return { ...form, sign: createSign('RSA-SHA256').update(signed).sign(key, 'base64') };
}

/** The platform expects China Standard Time: `2026-01-31 18:00:00`. */
function chinaTime(nowMs: number): string {
  return new Date(nowMs + CHINA_OFFSET_MS).toISOString().slice(0, 19).replace('T', ' ');
}
