import { createHmac, randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { PlatformCredentials } from '#contracts';
import { requireToken, requireUid } from './claim-fields.js';
import { answeredId, answeredOptionalText, proofOf } from './answered-fields.js';
import type { Claim, PlatformVerifier, Proof } from './platform-verifier.types.js';
import type { PlatformEndpoint } from './platform-endpoint.js';
import { refusal } from './platform-errors.js';
import type { PlatformHttp } from './platform-http.js';

/** For apps in China; that for all others is https://open.tapapis.com. */
const DEFAULT_URL = 'https://open.tapapis.cn';
const NONCE_BYTES = 12;
/** What may stand between the quotes of a header's parameter. */
const KEY_ID = /^[A-Za-z0-9._~+/=-]+$/;

const basicInfo = z.object({
  success: z.literal(true),
  data: z.object({ openid: answeredId, unionid: answeredOptionalText }),
});

/**
 * TapTap, by the account that the token opens (GET /account/basic-info/v1). The token never travels: the request is signed with
 * its MAC key. The client id goes along, and an openid belongs to one client.
 */
export class TaptapVerifier implements PlatformVerifier<'taptap'> {
  readonly kind = 'taptap';
  private readonly endpoint: PlatformEndpoint;

  constructor(http: PlatformHttp) {
    this.endpoint = http.endpoint(this.kind, DEFAULT_URL);
  }

  async verify(claim: Claim, { clientId }: PlatformCredentials<'taptap'>): Promise<Proof> {
    requireUid(claim);
    const keyId = requireToken(this.kind, claim, 'kid');
    const macKey = requireToken(this.kind, claim, 'mac_key');
    if (!KEY_ID.test(keyId)) throw refusal(this.kind, "kid is none of the platform's");
    const url = this.endpoint.url('/account/basic-info/v1', { client_id: clientId });
    const { status, body } = await this.endpoint.get(url, { authorization: macToken(url, keyId, macKey) });
    const answer = basicInfo.safeParse(body);
    if (status !== 200 || !answer.success) throw refusal(this.kind, 'the platform does not know the token');
    const { openid, unionid } = answer.data.data;
    return proofOf(this.kind, claim, { id: openid, unionId: unionid });
  }
}

/** The header of a request that is signed with a MAC token. */
function macToken(url: URL, keyId: string, macKey: string): string {
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const nonce = randomBytes(NONCE_BYTES).toString('base64url');
  const port = url.port === '' ? defaultPort(url) : url.port;
  const signed = [timestamp, nonce, 'GET', `${url.pathname}${url.search}`, url.hostname, port, '', ''].join('\n');
  const mac = createHmac('sha1', macKey).update(signed).digest('base64');
  return `MAC id="${keyId}",ts="${timestamp}",nonce="${nonce}",mac="${mac}"`;
}

function defaultPort({ protocol }: URL): string {
  return protocol === 'https:' ? '443' : '80';
}
