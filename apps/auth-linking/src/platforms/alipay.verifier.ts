import { z } from 'zod';
import type { PlatformCredentials } from '#contracts';
import { alipayForm } from './alipay-form.js';
import { requireToken } from './claim-fields.js';
import { noSession, sessionProof } from './mini-program-session.js';
import { answeredErrorCode, answeredOptionalText } from './answered-fields.js';
import type { Claim, PlatformVerifier, Proof } from './platform-verifier.types.js';
import type { PlatformEndpoint } from './platform-endpoint.js';
import type { PlatformHttp } from './platform-http.js';

const DEFAULT_URL = 'https://openapi.alipay.com';
/** Of the platform (`isp`), or of our credentials, whatever the code. */
const ERRORS_OF_OURS = new Set([
  'isp.unknow-error',
  'isp.unknown-error',
  'isv.app-call-limited',
  'isv.invalid-app-id',
  'isv.invalid-signature',
  'isv.missing-signature',
  'isv.missing-signature-key',
]);

const failure = z.object({ sub_code: answeredErrorCode });
const session = failure
  .extend({
    user_id: answeredOptionalText,
    open_id: answeredOptionalText,
    union_id: answeredOptionalText,
    access_token: answeredOptionalText,
    expires_in: z.coerce.number().int().nonnegative().optional().catch(undefined),
  })
  .transform(({ user_id, open_id, union_id, ...rest }) => ({ ...rest, openid: user_id ?? open_id, unionid: union_id }));
const answered = z.object({
  alipay_system_oauth_token_response: session.optional().catch(undefined),
  error_response: failure.optional().catch(undefined),
});

/**
 * Mini programs of Alipay, by the token that their code is exchanged for (`alipay.system.oauth.token`). The platform names users
 * by `user_id`, for newer apps by `open_id`. That it is the platform who answers is known from the connection (TLS).
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
    const { alipay_system_oauth_token_response: given, error_response: error } = answered.parse(body);
    if (error !== undefined || given?.openid === undefined) {
      throw noSession(this.kind, (error ?? given)?.sub_code, ERRORS_OF_OURS);
    }
    const { openid, access_token, expires_in, unionid } = given;
    return sessionProof(this.kind, claim, { openid, access_token, expires_in, unionid });
  }
}
