import { createHmac } from 'node:crypto';
import { NOT_FOUND, type PlatformCall, type PlatformReply, randomText, type StandInPlatform } from './platform-call.js';

const HEADER = /^MAC id="([^"]+)",ts="(\d+)",nonce="([^"]+)",mac="([^"]+)"$/;
const MAX_AGE_SECONDS = 300;

// Not interfaces: an entry must fit where JSON is wanted.
type TaptapAccount = Readonly<Record<'openid' | 'unionid', string>>;

interface TaptapToken extends TaptapAccount {
  readonly macKey: string;
  readonly clientId: string;
}

/** An entry of `authData` as TapTap's SDK makes it. */
type TaptapEntry = TaptapAccount &
  Readonly<Record<'kid' | 'access_token' | 'token_type' | 'mac_key' | 'mac_algorithm', string>>;

/** TapTap: GET /account/basic-info/v1, signed with a MAC token. */
export class TaptapPlatform implements StandInPlatform {
  readonly credentials = { clientId: randomText() };
  readonly #tokens = new Map<string, TaptapToken>();
  readonly #nonces = new Set<string>();

  /** @param clientId the app that the token is for: ours, unless given */
  issueToken(account: TaptapAccount, clientId = this.credentials.clientId): TaptapEntry {
    const kid = `1/${randomText()}`;
    const macKey = randomText();
    this.#tokens.set(kid, { ...account, macKey, clientId });
    return { kid, access_token: kid, token_type: 'mac', mac_key: macKey, mac_algorithm: 'hmac-sha-1', ...account };
  }

  answer(call: PlatformCall): PlatformReply {
    if (call.method !== 'GET' || call.path !== '/account/basic-info/v1') return NOT_FOUND;
    const token = this.#authenticate(call);
    if (token?.clientId !== call.query.get('client_id')) {
      const error = { code: 3, msg: '', error: 'access_denied', error_description: 'The resource owner denied' };
      return { status: 401, body: { data: error, now: now(), success: false } };
    }
    const { openid, unionid } = token;
    return { body: { data: { openid, unionid }, now: now(), success: true } };
  }

  #authenticate({ headers, method, target, host, port }: PlatformCall): TaptapToken | undefined {
    const [, kid = '', ts = '', nonce = '', mac] = HEADER.exec(String(headers['authorization'])) ?? [];
    const isFresh = Math.abs(now() - Number(ts)) <= MAX_AGE_SECONDS && !this.#nonces.has(nonce);
    this.#nonces.add(nonce);
    const token = this.#tokens.get(kid);
    const signed = `${ts}\n${nonce}\n${method}\n${target}\n${host}\n${port}\n\n`;
    const expected = createHmac('sha1', token?.macKey ?? '')
      .update(signed)
      .digest('base64');
    return isFresh && mac === expected ? token : undefined;
  }
}

function now(): number {
  return Math.floor(Date.now() / 1_000);
}
