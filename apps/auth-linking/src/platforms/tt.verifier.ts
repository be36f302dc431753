import { z } from 'zod';
import type { PlatformCredentials } from '#contracts';
import { optionalToken, requireToken } from './claim-fields.js';
import { miniProgramSession, noSession, sessionProof } from './mini-program-session.js';
import { answeredErrorCode } from './answered-fields.js';
import type { Claim, PlatformVerifier, Proof } from './platform-verifier.types.js';
import type { PlatformEndpoint } from './platform-endpoint.js';
import type { PlatformHttp } from './platform-http.js';

const DEFAULT_URL = 'https://developer.toutiao.com';
/** The platform is busy; our app id or secret is wrong. */
const ERRORS_OF_OURS = new Set(['-1', '40015', '40017']);

const answered = z.object({ err_no: answeredErrorCode, data: miniProgramSession.optional().catch(undefined) });

/**
 * Mini programs of Douyin and Toutiao, by the session that their code is exchanged for (POST /api/apps/v2/jscode2session). A
 * device without a login has only an anonymous code, and that proves no user: it is sent along, but never alone.
 */
export class TtVerifier implements PlatformVerifier<'lc_tt'> {
  readonly kind = 'lc_tt';
  private readonly endpoint: PlatformEndpoint;

  constructor(http: PlatformHttp) {
    this.endpoint = http.endpoint(this.kind, DEFAULT_URL);
  }

  async verify(claim: Claim, { appId, appSecret }: PlatformCredentials<'lc_tt'>): Promise<Proof> {
    const code = requireToken(this.kind, claim, 'code');
    // The mini program's SDK writes it one way, the platform the other.
    const anonymousCode =
      optionalToken(this.kind, claim, 'anonymousCode') ?? optionalToken(this.kind, claim, 'anonymous_code');
    const { body } = await this.endpoint.postJson(this.endpoint.url('/api/apps/v2/jscode2session'), {
      appid: appId,
      secret: appSecret,
      code,
      ...(anonymousCode === undefined ? {} : { anonymous_code: anonymousCode }),
    });
    const { err_no: error, data } = answered.parse(body);
    if (error !== '0' || data === undefined) throw noSession(this.kind, error, ERRORS_OF_OURS);
    return sessionProof(this.kind, claim, data);
  }
}
