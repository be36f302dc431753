import { NOT_FOUND, type PlatformCall, type PlatformReply, randomText, type StandInPlatform } from './platform-call.js';

const WEEK_SECONDS = 604_800;

interface WeixinAccount {
  readonly openid: string;
  readonly unionid?: string;
  /** `snsapi_base` opens no profile. The default is `snsapi_userinfo`. */
  readonly scope?: 'snsapi_base';
}

/** WeChat: GET /sns/userinfo, GET /sns/auth. */
export class WeixinPlatform implements StandInPlatform {
  readonly credentials = { appId: `wx${randomText()}` };
  /** The answer of /sns/auth to a valid token. */
  validity: PlatformReply = { body: { errcode: 0, errmsg: 'ok' } };
  readonly #accounts = new Map<string, WeixinAccount>();

  /** @returns an entry of `authData` as an app sends it */
  issueToken(account: WeixinAccount): { openid: string; access_token: string; expires_in: number; unionid?: string } {
    const token = randomText();
    this.#accounts.set(token, account);
    return { ...account, access_token: token, expires_in: 7_200 };
  }

  withdraw(token: string): void {
    this.#accounts.delete(token);
  }

  answer({ method, path, query }: PlatformCall): PlatformReply {
    if (method !== 'GET' || !['/sns/userinfo', '/sns/auth'].includes(path)) return NOT_FOUND;
    const account = this.#accounts.get(query.get('access_token') ?? '');
    if (account === undefined) return refused(40001, 'invalid credential, access_token is invalid or not latest');
    if (path === '/sns/userinfo' && account.scope === 'snsapi_base') return refused(48001, 'api unauthorized');
    if (account.openid !== query.get('openid')) return refused(40003, 'invalid openid');
    if (path === '/sns/auth') return this.validity;
    return { body: { ...account, nickname: 'Ada', sex: 2, province: '', city: '', country: '', privilege: [] } };
  }
}

function refused(errcode: number, errmsg: string): PlatformReply {
  return { body: { errcode, errmsg: `${errmsg} rid: 64f0a1b2-3c4d5e6f` } };
}

interface WeiboToken {
  readonly uid: string;
  /** The app that it is for: ours, unless given. */
  readonly appKey?: string;
  readonly secondsLeft?: number;
}

/** Weibo: POST /oauth2/get_token_info. */
export class WeiboPlatform implements StandInPlatform {
  readonly credentials = { appKey: String(1_000_000_000 + Math.floor(Math.random() * 1_000_000_000)) };
  readonly #tokens = new Map<string, WeiboToken>();

  issueToken(token: WeiboToken): { uid: string; access_token: string; expiration_in: string } {
    const text = randomText();
    this.#tokens.set(text, token);
    return { uid: token.uid, access_token: text, expiration_in: String(WEEK_SECONDS) };
  }

  answer({ method, path, body }: PlatformCall): PlatformReply {
    if (method !== 'POST' || path !== '/oauth2/get_token_info') return NOT_FOUND;
    const token = this.#tokens.get(new URLSearchParams(body).get('access_token') ?? '');
    if (token === undefined) {
      const error = { error: 'invalid_access_token', error_code: 21_332, request: '/oauth2/get_token_info' };
      return { status: 403, body: error };
    }
    const { uid, appKey = this.credentials.appKey, secondsLeft = WEEK_SECONDS } = token;
    // Numbers, as in the documentation's example.
    return {
      body: { uid: Number(uid), appkey: Number(appKey), scope: null, create_at: 1_352_267_591, expire_in: secondsLeft },
    };
  }
}

interface QqToken {
  readonly openid: string;
  readonly unionid?: string;
  /** The app that it is for: ours, unless given. */
  readonly appId?: string;
}

/** QQ: GET /oauth2.0/me, which answers JSON only where it is asked for. */
export class QqPlatform implements StandInPlatform {
  readonly credentials = { appId: String(100_000_000 + Math.floor(Math.random() * 100_000_000)) };
  /** Whether the app was granted union ids. */
  grantsUnionIds = true;
  readonly #tokens = new Map<string, QqToken>();

  issueToken(token: QqToken): { openid: string; access_token: string; expires_in: number } {
    const text = randomText();
    this.#tokens.set(text, token);
    return { openid: token.openid, access_token: text, expires_in: WEEK_SECONDS };
  }

  answer({ method, path, query }: PlatformCall): PlatformReply {
    if (method !== 'GET' || path !== '/oauth2.0/me') return NOT_FOUND;
    const body = this.#describe(query);
    return { body: query.get('fmt') === 'json' ? body : `callback( ${JSON.stringify(body)} );` };
  }

  #describe(query: URLSearchParams): Record<string, unknown> {
    const token = this.#tokens.get(query.get('access_token') ?? '');
    if (token === undefined) return { error: 100_016, error_description: 'access token check failed' };
    const wantsUnionId = query.get('unionid') === '1';
    if (wantsUnionId && !this.grantsUnionIds) return { error: 100_048, error_description: 'companyid not set' };
    const { appId: client_id = this.credentials.appId, openid, unionid } = token;
    return { client_id, openid, ...(wantsUnionId && unionid !== undefined ? { unionid } : {}) };
  }
}
