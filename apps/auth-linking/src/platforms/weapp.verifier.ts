import type { PlatformCredentials } from '#contracts';
import type { PlatformEndpoint } from './platform-endpoint.js';
import type { PlatformHttp } from './platform-http.js';
import type { Claim, PlatformVerifier, Proof } from './platform-verifier.types.js';
import { wechatSessionProof } from './wechat-session.js';

const DEFAULT_URL = 'https://api.weixin.qq.com';

/** Mini programs of WeChat, by the session that their code is exchanged for (GET /sns/jscode2session). */
export class WeappVerifier implements PlatformVerifier<'lc_weapp'> {
  readonly kind = 'lc_weapp';
  private readonly endpoint: PlatformEndpoint;

  constructor(http: PlatformHttp) {
    this.endpoint = http.endpoint(this.kind, DEFAULT_URL);
  }

  verify(claim: Claim, credentials: PlatformCredentials<'lc_weapp'>): Promise<Proof> {
    return wechatSessionProof(this.endpoint, claim, credentials);
  }
}
