import { z } from 'zod';
import { requireToken, requireUid } from './claim-fields.js';
import { answeredErrorCode, answeredId, answeredOptionalText, proofOf } from './answered-fields.js';
import type { Claim, PlatformVerifier, Proof } from './platform-verifier.types.js';
import type { PlatformEndpoint } from './platform-endpoint.js';
import { refusal, unavailable } from './platform-errors.js';
import type { PlatformHttp } from './platform-http.js';

const DEFAULT_URL = 'https://api.weixin.qq.com';
/** Busy; too many requests. */
const TRANSIENT = new Set(['-1', '45009', '45011']);

const userInfo = z.object({
  errcode: answeredErrorCode,
  openid: answeredId.optional().catch(undefined),
  unionid: answeredOptionalText,
});

/**
 * WeChat, by the user's profile that the token opens (GET /sns/userinfo). The token's app is not named there; but an openid
 * belongs to one app, so another app's token never confirms one of ours.
 */
export class WeixinVerifier implements PlatformVerifier<'weixin'> {
  readonly kind = 'weixin';
  private readonly endpoint: PlatformEndpoint;

  constructor(http: PlatformHttp) {
    this.endpoint = http.endpoint(this.kind, DEFAULT_URL);
  }

  async verify(claim: Claim): Promise<Proof> {
    const openid = requireUid(claim);
    const accessToken = requireToken(this.kind, claim, 'access_token');
    const url = this.endpoint.url('/sns/userinfo', { access_token: accessToken, openid });
    const { body } = await this.endpoint.get(url);
    const { errcode = '0', openid: id, unionid } = userInfo.parse(body);
    if (TRANSIENT.has(errcode)) throw unavailable(this.kind, `errcode ${errcode}`);
    if (errcode !== '0') throw refusal(this.kind, 'the platform does not know the access token and openid');
    return proofOf(this.kind, claim, { id, unionId: unionid });
  }
}
