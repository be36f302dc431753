import { z } from 'zod';
import type { PlatformCredentials } from '#contracts';
import { requireToken } from './claim-fields.js';
import { miniProgramSession, noSession, sessionProof } from './mini-program-session.js';
import { answeredErrorCode } from './answered-fields.js';
import type { Claim, PlatformVerifier, Proof } from './platform-verifier.types.js';
import type { PlatformEndpoint } from './platform-endpoint.js';
import type { PlatformHttp } from './platform-http.js';

const DEFAULT_URL = 'https://spapi.baidu.com';
/** The key or secret is wrong, or the platform is at its limit: in the words of OAuth 2.0. */
const ERRORS_OF_OURS = new Set(['invalid_client', 'unauthorized_client', 'server_error', 'temporarily_unavailable']);

const failure = z.object({ error: answeredErrorCode });

/** Mini programs of Baidu, by the session that their code is exchanged for (POST /oauth/jscode2sessionkey). */
export class BaiduVerifier implements PlatformVerifier<'lc_baidu'> {
  readonly kind = 'lc_baidu';
  private readonly endpoint: PlatformEndpoint;

  constructor(http: PlatformHttp) {
    this.endpoint = http.endpoint(this.kind, DEFAULT_URL);
  }

  async verify(claim: Claim, { appKey, appSecret }: PlatformCredentials<'lc_baidu'>): Promise<Proof> {
    const form = { code: requireToken(this.kind, claim, 'code'), client_id: appKey, sk: appSecret };
    const { status, body } = await this.endpoint.postForm(this.endpoint.url('/oauth/jscode2sessionkey'), form);
    const { error } = failure.parse(body);
    const session = miniProgramSession.safeParse(body);
    if (status !== 200 || error !== undefined || !session.success) throw noSession(this.kind, error, ERRORS_OF_OURS);
    return sessionProof(this.kind, claim, session.data);
  }
}
