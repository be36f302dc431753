import { z } from 'zod';
import type { PlatformCredentials } from '#contracts';
import { requireToken, requireUid } from './claim-fields.js';
import { answeredErrorCode, proofOf } from './answered-fields.js';
import type { Claim, PlatformVerifier, Proof } from './platform-verifier.types.js';
import type { PlatformEndpoint } from './platform-endpoint.js';
import { refusal, unavailable } from './platform-errors.js';
import type { PlatformHttp } from './platform-http.js';

const DEFAULT_URL = 'https://api.weibo.com';
/** Errors of the system; too many requests. */
const TRANSIENT = new Set(['10001', '10002', '10003', '10009', '10010', '10022', '10023', '10024']);

/** Documented as strings, shown as numbers. */
const number = z.union([z.string().regex(/^\d{1,20}$/), z.int().nonnegative()]).transform(String);
const tokenInfo = z.object({
  error_code: answeredErrorCode,
  uid: number.optional().catch(undefined),
  appkey: number.optional().catch(undefined),
  expire_in: z.coerce.number().optional().catch(undefined),
});

/**
 * Weibo, by what it says about the token (POST /oauth2/get_token_info): whose it is, and which app it was given to. A profile
 * (`users/show`) would prove nothing: any token, of any app, opens anybody's.
 */
export class WeiboVerifier implements PlatformVerifier<'weibo'> {
  readonly kind = 'weibo';
  private readonly endpoint: PlatformEndpoint;

  constructor(http: PlatformHttp) {
    this.endpoint = http.endpoint(this.kind, DEFAULT_URL);
  }

  async verify(claim: Claim, { appKey }: PlatformCredentials<'weibo'>): Promise<Proof> {
    requireUid(claim);
    const accessToken = requireToken(this.kind, claim, 'access_token');
    const url = this.endpoint.url('/oauth2/get_token_info');
    const { status, body } = await this.endpoint.postForm(url, { access_token: accessToken });
    const { error_code: code, uid, appkey, expire_in: seconds = 0 } = tokenInfo.parse(body);
    if (code !== undefined && TRANSIENT.has(code)) throw unavailable(this.kind, `error_code ${code}`);
    if (code !== undefined || status !== 200) {
      throw refusal(this.kind, 'the platform does not know the access token');
    }
    if (appkey !== appKey) throw refusal(this.kind, 'the access token is for another app');
    // Not a number is no time left either.
    if (!(seconds > 0)) throw refusal(this.kind, 'the access token has expired');
    return proofOf(this.kind, claim, { id: uid });
  }
}
