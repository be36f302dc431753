import { NOT_FOUND, type PlatformCall, type PlatformReply, randomText, type StandInPlatform } from './platform-call.js';

interface Account {
  readonly openid: string;
  readonly unionid?: string;
}

/** Codes that are good for one use. */
export class Codes<T> {
  readonly #open = new Map<string, T>();

  issue(value: T): string {
    const code = randomText();
    this.#open.set(code, value);
    return code;
  }

  /** The value of a code at its first use; undefined afterwards. */
  use(code: string): T | undefined {
    const value = this.#open.get(code);
    this.#open.delete(code);
    return value;
  }
}

/** Mini programs of WeChat and QQ: GET /sns/jscode2session. */
export class WechatLikePlatform implements StandInPlatform {
  readonly credentials = { appId: `wx${randomText()}`, appSecret: randomText() };
  readonly #codes = new Codes<Account>();

  issueCode(account: Account): string {
    return this.#codes.issue(account);
  }

  answer({ method, path, query }: PlatformCall): PlatformReply {
    if (method !== 'GET' || path !== '/sns/jscode2session') return NOT_FOUND;
    if (query.get('appid') !== this.credentials.appId) return { body: { errcode: 40_013, errmsg: 'invalid appid' } };
    if (query.get('secret') !== this.credentials.appSecret) {
      return { body: { errcode: 40_125, errmsg: 'invalid appsecret' } };
    }
    if (query.get('grant_type') !== 'authorization_code') {
      return { body: { errcode: 40_002, errmsg: 'invalid grant_type' } };
    }
    const account = this.#codes.use(query.get('js_code') ?? '');
    if (account === undefined) return { body: { errcode: 40_029, errmsg: 'invalid code' } };
    return { body: { ...account, session_key: randomText() } };
  }
}

/** Mini programs of Baidu: POST /oauth/jscode2sessionkey. */
export class BaiduPlatform implements StandInPlatform {
  readonly credentials = { appKey: randomText(), appSecret: randomText() };
  readonly #codes = new Codes<Pick<Account, 'openid'>>();

  issueCode(account: Pick<Account, 'openid'>): string {
    return this.#codes.issue(account);
  }

  answer({ method, path, body }: PlatformCall): PlatformReply {
    if (method !== 'POST' || path !== '/oauth/jscode2sessionkey') return NOT_FOUND;
    const form = new URLSearchParams(body);
    if (form.get('client_id') !== this.credentials.appKey || form.get('sk') !== this.credentials.appSecret) {
      return { status: 401, body: { error: 'invalid_client', error_description: 'unknown client id' } };
    }
    const account = this.#codes.use(form.get('code') ?? '');
    if (account === undefined) {
      return { status: 400, body: { error: 'invalid_grant', error_description: 'Invalid authorization code' } };
    }
    return { body: { ...account, session_key: randomText() } };
  }
}

/** Mini programs of Douyin: POST /api/apps/v2/jscode2session. */
export class TtPlatform implements StandInPlatform {
  readonly credentials = { appId: `tt${randomText()}`, appSecret: randomText() };
  readonly #codes = new Codes<Account>();

  issueCode(account: Account): string {
    return this.#codes.issue(account);
  }

  answer({ method, path, body }: PlatformCall): PlatformReply {
    if (method !== 'POST' || path !== '/api/apps/v2/jscode2session') return NOT_FOUND;
    const { appid, secret, code, anonymous_code } = JSON.parse(body) as Record<string, string>;
    if (appid !== this.credentials.appId) return ttError(40_015, 'bad appid');
    if (secret !== this.credentials.appSecret) return ttError(40_017, 'bad secret');
    const account = this.#codes.use(code ?? '');
    if (account === undefined) return ttError(40_018, 'bad code');
    const data = {
      session_key: randomText(),
      openid: account.openid,
      anonymous_openid: anonymous_code === undefined ? '' : `anonymous-${anonymous_code}`,
      unionid: account.unionid ?? '',
    };
    return { body: { err_no: 0, err_tips: 'success', data } };
  }
}

function ttError(err_no: number, err_tips: string): PlatformReply {
  return { body: { err_no, err_tips, data: null } };
}
