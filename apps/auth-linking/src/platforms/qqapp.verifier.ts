import type { PlatformCredentials } from '#contracts';
import type { PlatformEndpoint } from './platform-endpoint.js';
import type { PlatformHttp } from './platform-http.js';
import type { Claim, PlatformVerifier, Proof } from './platform-verifier.types.js';
import { wechatSessionProof } from './wechat-session.js';

const DEFAULT_URL = 'https://api.q.qq.com';

/** Mini programs of QQ, by the session that their code is exchanged for, as with WeChat (GET /sns/jscode2session). */
export class QqappVerifier implements PlatformVerifier<'lc_qqapp'> {
  readonly kind = 'lc_qqapp';
  private readonly endpoint: PlatformEndpoint;

  constructor(http: PlatformHttp) {
    this.endpoint = http.endpoint(this.kind, DEFAULT_URL);
  }

  verify(claim: Claim, credentials: PlatformCredentials<'lc_qqapp'>): Promise<Proof> {
    return wechatSessionProof(this.endpoint, claim, credentials);
  }
}
