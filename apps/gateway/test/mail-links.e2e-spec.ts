import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RunningService } from '#bootstrap';
import { emailsRpc, type MailLink } from '#contracts';
import { appError, type ErrorName } from '#errors';
import type { FakeTransport } from '#testing';
import type { RateLimits } from '../src/rate-limits/request-limits.js';
import { APPLICATION, fakeServices, startGateway } from './start-gateway.js';

const OFF: RateLimits = { requests: undefined, logins: undefined, signUps: undefined, messages: undefined };
const ONCE = { count: 1, windowSeconds: 60 };
const SIGNED = { 'x-lc-id': APPLICATION.id, 'x-lc-key': APPLICATION.appKey };
const LINK: MailLink = {
  state: 'open',
  applicationName: 'Demo',
  email: 'a@b.co',
  username: 'ada',
  canBeRenewed: false,
};

interface Sent {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

describe('mails and their links at the gateway', () => {
  let accounts: FakeTransport;
  let service: RunningService;
  const start = async (limits: Partial<RateLimits> = {}) => {
    service = await startGateway(accounts, [], { rateLimits: { ...OFF, ...limits }, trustedProxies: [] });
  };
  const send = (path: string, { method = 'POST', body, headers = {} }: Sent = {}) =>
    fetch(`http://127.0.0.1:${service.port}/1.1/${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });

  beforeEach(() => {
    accounts = fakeServices();
    accounts.answer(emailsRpc.requestVerification, () => ({}));
    accounts.answer(emailsRpc.requestPasswordReset, () => ({}));
    accounts.answer(emailsRpc.verify, () => ({ link: LINK }));
    accounts.answer(emailsRpc.resetPassword, () => ({}));
  });
  afterEach(() => service.stop());

  describe.each([
    ['requestEmailVerify', emailsRpc.requestVerification],
    ['requestPasswordReset', emailsRpc.requestPasswordReset],
  ])('POST /1.1/%s', (path, { pattern }) => {
    it('calls accounts once, with the body and the languages of the client', async () => {
      await start();
      const response = await send(path, {
        body: { email: 'a@b.co', any: ['thing'] },
        headers: { ...SIGNED, 'accept-language': 'zh-CN,en;q=0.5' },
      });
      expect([response.status, await response.json()]).toEqual([200, {}]);
      expect(accounts.calledPatterns).toEqual([pattern]);
      expect(accounts.calls.at(-1)?.data).toMatchObject({
        caller: { appId: APPLICATION.id, isMaster: false, languages: ['zh-CN', 'en'] },
        body: { email: 'a@b.co', any: ['thing'] },
      });
    });

    it('needs credentials, and has its limit per address', async () => {
      await start({ messages: ONCE });
      expect((await send(path, { body: {} })).status).toBe(401);
      const statuses = [await send(path, { body: {}, headers: SIGNED }), await send(path, { headers: SIGNED })];
      expect(statuses.map(({ status }) => status)).toEqual([200, 429]);
    });
  });

  describe.each([
    ['verifyEmail', emailsRpc.verify, undefined, { token: 'abc' }],
    ['resetPassword', emailsRpc.resetPassword, { password: 'new' }, { token: 'abc', password: 'new' }],
  ])('/1.1/%s/:token', (path, contract, body, expected) => {
    const { pattern } = contract;
    const search = new URLSearchParams(body).toString();
    const script = (callback: string, token = 'abc') =>
      send(`${path}/${token}?${search}&callback=${encodeURIComponent(callback)}`, { method: 'GET' });

    it('needs no credentials: the token is all that a page has', async () => {
      await start();
      const response = await send(`${path}/abc`, { body });
      expect([response.status, await response.json()]).toEqual([200, {}]);
      expect(accounts.calls).toEqual([{ pattern, data: expected }]);
    });

    it('answers an expired link as such', async () => {
      accounts.fail(contract, appError('LINK_EXPIRED'));
      await start();
      const response = await send(`${path}/abc`, { body });
      expect([response.status, await response.json()]).toMatchObject([400, { code: 1 }]);
    });

    it.each(['a'.repeat(1_025), 'a'.repeat(8_000)])(
      'takes what cannot be a token for one that has expired',
      async (token) => {
        await start();
        await send(`${path}/${token}`, { body });
        expect(accounts.calls.at(-1)?.data).toMatchObject({ token: '' });
      },
    );

    it.each(['%00', '%E2%80%AE', '..%2F..%2Fetc', '%3Cscript%3E', "'%3B--"])(
      'passes on %s for accounts to validate',
      async (token) => {
        await start();
        expect((await send(`${path}/${token}`, { body })).status).toBe(200);
        expect(accounts.calls.at(-1)?.data).toMatchObject({ token: decodeURIComponent(token) });
      },
    );

    it('answers a script element with a script that calls its function', async () => {
      await start();
      const response = await script('My.app_1.$done');
      expect(response.headers.get('content-type')).toBe('application/javascript; charset=utf-8');
      expect(response.headers.get('x-content-type-options')).toBe('nosniff');
      expect(response.headers.get('cache-control')).toContain('no-store');
      const answers: unknown[] = [];
      runInNewContext(await response.text(), { My: { app_1: { $done: (answer: unknown) => answers.push(answer) } } });
      expect([response.status, JSON.stringify(answers)]).toEqual([200, '[{}]']);
      expect(accounts.calls).toEqual([{ pattern, data: expected }]);
    });

    it.each<[ErrorName, number]>([
      ['LINK_EXPIRED', 1],
      ['SERVICE_UNAVAILABLE', 503],
      ['INTERNAL', 1],
    ])('sends %s to a script with status 200 and its code', async (name, code) => {
      accounts.fail(contract, appError(name));
      await start();
      const response = await script('done');
      const answers: { code: number }[] = [];
      runInNewContext(await response.text(), { done: (answer: { code: number }) => answers.push(answer) });
      expect([response.status, answers[0]?.code]).toEqual([200, code]);
    });

    it.each([
      '',
      'alert(1)',
      'a.b.',
      '.a',
      '1a',
      'a[0]',
      "a');alert(1)//",
      '</script><script>',
      'a b',
      'a\n',
      'ａ',
      'ä',
      'a\u2028',
      'x'.repeat(65),
      `${'a.'.repeat(10_000)}!`.slice(0, 4_000),
    ])('does nothing for a GET with the callback %j', async (callback) => {
      await start();
      const response = await script(callback);
      expect([response.status, await response.json()]).toMatchObject([400, { code: 1 }]);
      expect(accounts.calledPatterns).toEqual([]);
    });

    it('does nothing for a GET without a callback, with several, and for any HEAD', async () => {
      await start();
      const url = `${path}/abc?${search}`;
      const answers = [
        await send(url, { method: 'GET' }),
        await send(`${url}&callback=a&callback=b`, { method: 'GET' }),
        await send(`${url}&callback[]=a`, { method: 'GET' }),
        await send(`${url}&callback=a`, { method: 'HEAD' }),
        await send(url, { method: 'HEAD' }),
      ];
      expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 400, 400]);
      expect(await answers[0]?.text()).toContain('POST');
      expect(accounts.calledPatterns).toEqual([]);
    });

    it('counts by the address of the client', async () => {
      await start({ logins: ONCE });
      const answers = [await send(`${path}/a`, { body }), await send(`${path}/b`, { body }), await script('a')];
      expect(answers.map(({ status }) => status)).toEqual([200, 429, 429]);
      expect(answers[1]?.headers.get('retry-after')).toMatch(/^\d+$/);
    });
  });

  it('keeps texts of errors from ending the script, or its element', async () => {
    accounts.fail(emailsRpc.verify, appError('LINK_EXPIRED', { message: '</script><!--\u2028\u2029' }));
    await start();
    const text = await (await send('verifyEmail/abc?callback=cb', { method: 'GET' })).text();
    expect(text).toBe(
      String.raw`/**/typeof cb === 'function' && cb({"code":1,"error":"\u003c/script>\u003c!--\u2028\u2029"});`,
    );
  });

  it('passes a password on as it is, whatever it is', async () => {
    await start();
    for (const body of [{}, { password: null }, { password: 1 }, { password: '密码 ' }])
      await send('resetPassword/t', { body });
    expect(accounts.calls.map(({ data }) => data['password'])).toEqual([null, null, 1, '密码 ']);
  });
});
