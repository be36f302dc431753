import { createVerify, generateKeyPairSync } from 'node:crypto';
import { Codes } from './code-platforms.js';
import { NOT_FOUND, type PlatformCall, type PlatformReply, randomText, type StandInPlatform } from './platform-call.js';

interface AlipayAccount {
  /** How the platform names users of older apps; those of newer ones have an open id. */
  readonly userId?: string;
  readonly openId?: string;
  readonly unionid?: string;
}

/** Mini programs of Alipay: the gateway's `alipay.system.oauth.token`, signed with RSA2. */
export class AlipayPlatform implements StandInPlatform {
  readonly credentials: { readonly appId: string; readonly privateKey: string };
  readonly #publicKey: string;
  readonly #codes = new Codes<AlipayAccount>();

  constructor() {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', {
      modulusLength: 2_048,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    });
    this.#publicKey = publicKey;
    this.credentials = { appId: '2021000123456789', privateKey };
  }

  issueCode(account: AlipayAccount): string {
    return this.#codes.issue(account);
  }

  answer({ method, path, body }: PlatformCall): PlatformReply {
    if (method !== 'POST' || path !== '/gateway.do') return NOT_FOUND;
    const form = new URLSearchParams(body);
    const problem = this.#problemOf(form);
    if (problem !== undefined) return alipayError(problem);
    const account = this.#codes.use(form.get('code') ?? '');
    if (account === undefined) return alipayError('isv.code-invalid');
    const token = {
      ...(account.userId === undefined ? {} : { user_id: account.userId }),
      ...(account.openId === undefined ? {} : { open_id: account.openId }),
      ...(account.unionid === undefined ? {} : { union_id: account.unionid }),
      access_token: randomText(),
      expires_in: '3600',
      refresh_token: randomText(),
      re_expires_in: '3600',
    };
    return { body: { alipay_system_oauth_token_response: token, sign: randomText() } };
  }

  #problemOf(form: URLSearchParams): string | undefined {
    if (form.get('app_id') !== this.credentials.appId) return 'isv.invalid-app-id';
    if (form.get('sign_type') !== 'RSA2' || !this.#isSigned(form)) return 'isv.invalid-signature';
    if (form.get('method') !== 'alipay.system.oauth.token') return 'isv.invalid-method';
    if (!/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(form.get('timestamp') ?? '')) return 'isv.invalid-timestamp';
    return form.get('grant_type') === 'authorization_code' ? undefined : 'isv.grant-type-invalid';
  }

  #isSigned(form: URLSearchParams): boolean {
    const signed = [...form]
      .filter(([name, value]) => name !== 'sign' && value !== '')
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, value]) => `${name}=${value}`)
      .join('&');
    return createVerify('RSA-SHA256')
      .update(signed)
      .verify(this.#publicKey, form.get('sign') ?? '', 'base64');
  }
}

function alipayError(sub_code: string): PlatformReply {
  const error = { code: '40002', msg: 'Invalid Arguments', sub_code, sub_msg: sub_code };
  return { body: { error_response: error, sign: randomText() } };
}
