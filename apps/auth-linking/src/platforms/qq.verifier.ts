import { z } from 'zod';
import type { PlatformCredentials } from '#contracts';
import { requireToken, requireUid } from './claim-fields.js';
import { answeredErrorCode, answeredId, answeredOptionalText, proofOf } from './answered-fields.js';
import type { Claim, PlatformVerifier, Proof } from './platform-verifier.types.js';
import { type PlatformEndpoint, verificationDeadline } from './platform-endpoint.js';
import { refusal } from './platform-errors.js';
import type { PlatformHttp } from './platform-http.js';

const DEFAULT_URL = 'https://graph.qq.com';
/** The app has not been granted union ids: the platform then refuses the question for one, whatever the token. */
const NO_UNION_IDS = '100048';

const me = z.object({
  error: answeredErrorCode,
  client_id: z.union([z.string(), z.int()]).transform(String).optional().catch(undefined),
  openid: answeredId.optional().catch(undefined),
  unionid: answeredOptionalText,
});

/** QQ, by what it says about the token (GET /oauth2.0/me): whose it is, and which app it was given to. */
export class QqVerifier implements PlatformVerifier<'qq'> {
  readonly kind = 'qq';
  private readonly endpoint: PlatformEndpoint;

  constructor(http: PlatformHttp) {
    this.endpoint = http.endpoint(this.kind, DEFAULT_URL);
  }

  async verify(claim: Claim, { appId }: PlatformCredentials<'qq'>): Promise<Proof> {
    requireUid(claim);
    const accessToken = requireToken(this.kind, claim, 'access_token');
    const { error, client_id: clientId, openid, unionid } = await this.ask(accessToken);
    if (error !== undefined && error !== '0') throw refusal(this.kind, 'the platform does not know the access token');
    if (clientId !== appId) throw refusal(this.kind, 'the access token is for another app');
    return proofOf(this.kind, claim, { id: openid, unionId: unionid });
  }

  private async ask(accessToken: string): Promise<z.output<typeof me>> {
    const deadline = verificationDeadline();
    // Without `fmt` the answer is a script.
    const query = { access_token: accessToken, fmt: 'json' };
    const answer = await this.endpoint.get(this.endpoint.url('/oauth2.0/me', { ...query, unionid: '1' }), {}, deadline);
    const answered = me.parse(answer.body);
    if (answered.error !== NO_UNION_IDS) return answered;
    return me.parse((await this.endpoint.get(this.endpoint.url('/oauth2.0/me', query), {}, deadline)).body);
  }
}
