import { createPrivateKey, createSign, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import type { PlatformCredentials } from '#contracts';
import { noSession, sessionProof } from './mini-program.verifiers.js';
import { type PlatformEndpoint, type PlatformHttp, responseErrorCode, responseOptionalText } from './platform-http.js';
import { type Claim, type PlatformVerifier, type Proof, requireToken, unavailable } from './platform.rules.js';

const CHINA_OFFSET_MS = 8 * 3_600_000;
const DEFAULT_URL = 'https://openapi.alipay.com';
/** Errors of the platform (`isp`) or of our credentials, for any code. */
const SERVER_ERRORS = new Set([
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

/**
 * Mini programs of Alipay, by the token that their code is exchanged for (`alipay.system.oauth.token`). The platform names users
 * by `user_id`, for newer apps by `open_id`. TLS authenticates the response.
 */
export class AlipayVerifier implements PlatformVerifier<'lc_alipay'> {
  readonly kind = 'lc_alipay';
  private readonly endpoint: PlatformEndpoint;

  constructor(http: PlatformHttp) {
    this.endpoint = http.endpoint(this.kind, DEFAULT_URL);
  }

  async verify(claim: Claim, credentials: PlatformCredentials<'lc_alipay'>): Promise<Proof> {
    const code = requireToken(this.kind, claim, 'code');
    const form = alipayForm('alipay.system.oauth.token', { grant_type: 'authorization_code', code }, credentials);
    const { body } = await this.endpoint.postForm(this.endpoint.url('/gateway.do'), form);
    const { alipay_system_oauth_token_response: given, error_response: error } = tokenResponse.parse(body);
    if (error !== undefined || given?.openid === undefined) {
      throw noSession(this.kind, (error ?? given)?.sub_code, SERVER_ERRORS);
    }
    const { openid, access_token, expires_in, unionid } = given;
    return sessionProof(this.kind, claim, { openid, access_token, expires_in, unionid });
  }
}

/**
 * The form of a gateway call, signed with the app's key (RSA2: SHA-256 with RSA over the sorted fields).
 *
 * @throws AppError SERVICE_UNAVAILABLE if the private key in the credentials is invalid
 */
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
  return { ...form, sign: createSign('RSA-SHA256').update(signed).sign(rsaKey(privateKey), 'base64') };
}

/** The platform's tools write keys as PEM or as bare Base64, in PKCS#8 or PKCS#1. */
function rsaKey(text: string): KeyObject {
  for (const key of [
    text,
    { key: Buffer.from(text, 'base64'), format: 'der', type: 'pkcs8' },
    { key: Buffer.from(text, 'base64'), format: 'der', type: 'pkcs1' },
  ] as const) {
    const parsed = parseRsaKey(key);
    if (parsed !== undefined) return parsed;
  }
  throw unavailable('lc_alipay', 'the private key among our credentials is not readable');
}

function parseRsaKey(key: Parameters<typeof createPrivateKey>[0]): KeyObject | undefined {
  try {
    const parsed = createPrivateKey(key);
    return parsed.asymmetricKeyType === 'rsa' ? parsed : undefined;
  } catch {
    return undefined;
  }
}

/** The platform expects China Standard Time: `2026-01-31 18:00:00`. */
function chinaTime(nowMs: number): string {
  return new Date(nowMs + CHINA_OFFSET_MS).toISOString().slice(0, 19).replace('T', ' ');
}
