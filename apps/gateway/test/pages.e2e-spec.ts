import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RunningService } from '#bootstrap';
import { emailsRpc, type MailLink, type RpcContract } from '#contracts';
import { appError, type ErrorName } from '#errors';
import type { FakeTransport } from '#testing';
import type { RateLimits } from '../src/rate-limits/request-limits.js';
import { fakeServices, startGateway } from './start-gateway.js';

const OFF: RateLimits = { requests: undefined, logins: undefined, signUps: undefined, messages: undefined };
const ONCE = { count: 1, windowSeconds: 60 };
const FORM = 'application/x-www-form-urlencoded';
const HOSTILE = `"><script>alert('x')</script>&amp;`;
const OPEN: MailLink = {
  state: 'open',
  applicationName: 'Demo',
  email: 'a@b.co',
  username: 'ada',
  canBeRenewed: false,
};
const DONE: MailLink = { ...OPEN, state: 'done' };
const EXPIRED: MailLink = { ...OPEN, state: 'expired', canBeRenewed: true };
const UNKNOWN: MailLink = { state: 'expired', applicationName: null, email: null, username: null, canBeRenewed: false };
const PASSWORDS = { password: 'correct horse', repeat: 'correct horse' };

type Fields = Readonly<Record<string, string>>;
type Headers = Readonly<Record<string, string>>;

describe('the pages of mailed links', () => {
  let accounts: FakeTransport;
  let service: RunningService;
  const start = async (limits: Partial<RateLimits> = {}) => {
    service = await startGateway(accounts, [], { rateLimits: { ...OFF, ...limits }, trustedProxies: [] });
  };
  const send = (path: string, init: RequestInit) => fetch(`http://127.0.0.1:${service.port}/pages/${path}`, init);
  const open = (path: string, headers: Headers = {}, method = 'GET') => send(path, { method, headers });
  const post = (path: string, fields: Fields, headers: Headers = {}) =>
    send(path, { method: 'POST', headers, body: new URLSearchParams(fields) });
  const postText = (path: string, body: string, type = FORM) =>
    send(path, { method: 'POST', headers: { 'content-type': type }, body });
  const answerLink = (link: MailLink) => {
    accounts.answer(emailsRpc.inspectLink, () => ({ link }));
  };
  const fail = (contract: RpcContract, name: ErrorName) => {
    accounts.fail(contract, appError(name));
  };

  beforeEach(() => {
    accounts = fakeServices();
    answerLink(OPEN);
    accounts.answer(emailsRpc.verify, () => ({ link: OPEN }));
    accounts.answer(emailsRpc.resetPassword, () => ({}));
    accounts.answer(emailsRpc.renewLink, () => ({}));
  });
  afterEach(() => service.stop());

  describe.each(['verify-email', 'reset-password'])('/pages/%s', (page) => {
    const kind = page === 'verify-email' ? 'verifyEmail' : 'resetPassword';

    it.each(['GET', 'HEAD'])('%s looks at the link, and changes nothing', async (method) => {
      await start();
      const response = await open(`${page}?token=abc`, { 'user-agent': 'Mail scanner' }, method);
      expect(response.status).toBe(200);
      expect(accounts.calls).toEqual([{ pattern: 'accounts.inspectMailLink', data: { kind, token: 'abc' } }]);
    });

    it('has a form that leads back to it, wherever it stands, and holds the token', async () => {
      await start();
      const text = await (await open(`${page}?token=abc`)).text();
      const [, action = ''] = /<form method="post" action="([^"]*)">/.exec(text) ?? [];
      const shownAt = `https://example.com/behind/a/prefix/pages/${page}?token=abc`;
      expect(new URL(action, shownAt).href).toBe(`https://example.com/behind/a/prefix/pages/${page}`);
      expect(text).toContain('<input type="hidden" name="token" value="abc">');
    });

    it('escapes whatever comes in', async () => {
      answerLink({ ...OPEN, applicationName: HOSTILE, email: HOSTILE, username: HOSTILE });
      await start();
      const text = await (await open(`${page}?token=${encodeURIComponent(HOSTILE)}`)).text();
      expect(text).not.toContain('<script');
      expect(text).not.toContain("alert('");
      expect(text.split('&lt;script&gt;').length).toBeGreaterThan(4);
    });

    it('isolates names that are written from right to left', async () => {
      answerLink({ ...OPEN, username: '\u202Ekcatta' });
      await start();
      expect(await (await open(`${page}?token=abc`)).text()).toContain('<bdi>\u202Ekcatta</bdi>');
    });

    it.each(['', '?token=', '?token=a&token=b', `?token=${'a'.repeat(1_025)}`, `?token[x]=a`])(
      'shows %j as expired',
      async (search) => {
        answerLink(UNKNOWN);
        await start();
        const response = await open(`${page}${search}`);
        expect([response.status, accounts.calls.at(-1)?.data]).toEqual([410, { kind, token: '' }]);
        expect(await response.text()).not.toMatch(/<form|null|undefined/);
      },
    );

    it('offers a new mail where one can be sent', async () => {
      answerLink(EXPIRED);
      await start();
      const response = await open(`${page}?token=abc`);
      const text = await response.text();
      expect([response.status, text.includes(`action="${page}/renew"`)]).toEqual([410, true]);
      expect(text).toContain('a@b.co');
    });

    it('sends a new mail in the language of the browser', async () => {
      await start();
      const response = await post(`${page}/renew`, { token: 'abc' }, { 'accept-language': 'zh-CN,de;q=0.5' });
      expect(response.status).toBe(200);
      expect(accounts.calls).toEqual([
        { pattern: 'accounts.renewMailLink', data: { kind, token: 'abc', languages: ['zh-CN', 'de'] } },
      ]);
    });

    it('asks to wait after too many mails', async () => {
      fail(emailsRpc.renewLink, 'TOO_MANY_EMAILS');
      await start();
      const response = await post(`${page}/renew`, { token: 'abc' });
      expect([response.status, response.headers.get('retry-after')]).toEqual([429, '60']);
      expect(await response.text()).toContain('Please wait a little');
    });

    it('says where a link cannot be renewed', async () => {
      fail(emailsRpc.renewLink, 'LINK_EXPIRED');
      answerLink(EXPIRED);
      await start();
      const response = await post(`${page}/renew`, { token: 'abc' });
      expect(response.status).toBe(410);
      expect(await response.text()).not.toContain('<form');
    });

    it.each<[ErrorName, number]>([
      ['SERVICE_UNAVAILABLE', 503],
      ['INTERNAL', 500],
    ])('shows %s as a page', async (name, status) => {
      for (const contract of [emailsRpc.inspectLink, emailsRpc.renewLink, emailsRpc.verify]) fail(contract, name);
      await start();
      for (const response of [
        await open(`${page}?token=abc`),
        await post(page, { token: 'abc', ...PASSWORDS }),
        await post(`${page}/renew`, { token: 'abc' }),
      ]) {
        expect([response.status, response.headers.get('content-type')]).toEqual([status, 'text/html; charset=utf-8']);
        expect(response.headers.get('retry-after')).toBe(status === 503 ? '1' : null);
        expect(await response.text()).toContain('<h1>');
      }
    });

    it.each([
      ['a field that is there twice', 'token=a&token=b', FORM],
      ['bytes that are no UTF-8', 'token=%ff', FORM],
      ['JSON', '{"token":"abc"}', 'application/json'],
      ['a form with files', '--x\r\n', 'multipart/form-data; boundary=x'],
    ])('refuses %s', async (_, body, type) => {
      await start();
      for (const path of [page, `${page}/renew`]) {
        const response = await postText(path, body, type);
        expect([response.status, response.headers.get('content-type')]).toEqual([400, 'text/html; charset=utf-8']);
        expect(await response.text()).toContain('This did not work');
      }
      expect(accounts.calledPatterns).toEqual([]);
    });

    it('takes no form of another method, and none in text/plain', async () => {
      await start();
      const body = JSON.stringify({ _method: 'POST', token: 'abc', ...PASSWORDS });
      expect((await postText(page, body, 'text/plain')).status).toBe(400);
      expect((await send(page, { method: 'PUT' })).status).toBe(404);
      expect(accounts.calledPatterns).toEqual([]);
    });

    it('refuses a form over 8 KiB', async () => {
      await start();
      const response = await post(page, { token: 'abc', password: 'x'.repeat(8_192), repeat: '' });
      expect([response.status, response.headers.get('content-type')]).toEqual([413, 'text/html; charset=utf-8']);
      expect(accounts.calledPatterns).toEqual([]);
    });

    it('counts by the address of the client, and says so as a page', async () => {
      await start({ requests: { count: 3, windowSeconds: 60 }, logins: ONCE });
      const statuses = [await post(page, { token: 'a' }), await post(page, { token: 'b' })].map(({ status }) => status);
      expect(statuses).toEqual([page === 'verify-email' ? 200 : 400, 429]);
      const last = [await open(`${page}?token=a`), await open(`${page}?token=a`)];
      expect(last.map(({ status }) => status)).toEqual([200, 429]);
      expect(last[1]?.headers.get('retry-after')).toMatch(/^\d+$/);
      expect(await last[1]?.text()).toContain('too many requests');
    });

    it('counts new mails as messages', async () => {
      await start({ messages: ONCE });
      const answers = [await post(`${page}/renew`, { token: 'a' }), await post(`${page}/renew`, { token: 'a' })];
      expect(answers.map(({ status }) => status)).toEqual([200, 429]);
    });

    it('is no page elsewhere', async () => {
      await start();
      for (const path of [`${page}/`, `${page}/renew`, `${page}/x`, 'x']) {
        const response = await open(path);
        expect([response.status, response.headers.get('content-type')], path).toEqual([
          404,
          'text/html; charset=utf-8',
        ]);
      }
    });
  });

  it.each<[string | undefined, string]>([
    [undefined, 'en'],
    ['zh-CN,zh;q=0.9,en;q=0.8', 'zh-CN'],
    ['zh-TW', 'zh-CN'],
    ['de-DE,de;q=0.9,en;q=0.1,zh;q=0.05', 'en'],
    ['fr', 'en'],
    ['<script>,ZH', 'zh-CN'],
  ])('answers Accept-Language %j in %s', async (accepted, language) => {
    answerLink(EXPIRED);
    await start();
    const headers = accepted === undefined ? {} : { 'accept-language': accepted };
    for (const response of [await open('verify-email', headers), await open('unknown', headers)]) {
      expect(response.headers.get('content-language')).toBe(language);
      expect(response.headers.get('vary')).toBe('Accept-Language');
      const text = await response.text();
      expect(text).toContain(`<html lang="${language}">`);
      expect(/[\u4e00-\u9fff]/.test(text)).toBe(language === 'zh-CN');
    }
  });

  it('gives every page the same strict headers', async () => {
    fail(emailsRpc.renewLink, 'SERVICE_UNAVAILABLE');
    await start();
    for (const response of [
      await open('verify-email?token=a'),
      await open('reset-password?token=a', {}, 'HEAD'),
      await post('reset-password', { token: 'a' }),
      await post('verify-email/renew', { token: 'a' }),
      await postText('verify-email', 'a=%', FORM),
      await open('unknown'),
    ]) {
      const text = await response.text();
      const [, style = ''] = /<style>([^]*?)<\/style>/.exec(text) ?? [];
      if (text !== '')
        expect(response.headers.get('content-security-policy')).toBe(
          `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
        );
      expect(Object.fromEntries(response.headers)).toMatchObject({
        'content-type': 'text/html; charset=utf-8',
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'cache-control': 'no-store',
        'cross-origin-opener-policy': 'same-origin',
      });
      expect(response.headers.get('access-control-allow-origin')).toBeNull();
      expect(text).not.toMatch(
        /<(?:script|link|img|iframe|object|embed)\b|\ssrc=|\shref=|@import|url\(|\son\w+=|\sstyle=/i,
      );
    }
  });

  it('takes nothing from the names by which it was called', async () => {
    await start();
    const headers = {
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'gopher',
      'x-forwarded-prefix': '/evil',
    };
    expect(await (await open('verify-email?token=a', headers)).text()).not.toMatch(/evil|gopher|https?:/);
  });

  describe('verifying an address', () => {
    it('verifies once, and says so', async () => {
      await start();
      const response = await post('verify-email', { token: 'abc' });
      expect([response.status, await response.text()]).toEqual([
        200,
        expect.stringContaining('Your address is verified'),
      ]);
      expect(accounts.calls).toEqual([{ pattern: 'accounts.verifyEmail', data: { token: 'abc' } }]);
    });

    it('says where it was done before', async () => {
      answerLink(DONE);
      accounts.answer(emailsRpc.verify, () => ({ link: DONE }));
      await start();
      for (const response of [await open('verify-email?token=a'), await post('verify-email', { token: 'a' })])
        expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('Already verified')]);
    });

    it('says where the link expired meanwhile', async () => {
      fail(emailsRpc.verify, 'LINK_EXPIRED');
      answerLink(EXPIRED);
      await start();
      const response = await post('verify-email', { token: 'a' });
      expect([response.status, await response.text()]).toEqual([410, expect.stringContaining('verify-email/renew')]);
    });
  });

  describe('setting a new password', () => {
    const reset = (fields: Fields) => post('reset-password', { token: 'abc', ...fields });

    it('sets it, and says so', async () => {
      await start();
      const response = await reset({ password: ' pass wörd密码😀&=+%', repeat: ' pass wörd密码😀&=+%' });
      expect([response.status, await response.text()]).toEqual([
        200,
        expect.stringContaining('Your password is changed'),
      ]);
      expect(accounts.calls.at(-1)).toEqual({
        pattern: 'accounts.resetPasswordByMail',
        data: { token: 'abc', password: ' pass wörd密码😀&=+%' },
      });
    });

    it.each<[string, Fields, string, string]>([
      ['no password', {}, 'password', 'Enter a password.'],
      ['7 characters', { password: '1234567', repeat: '1234567' }, 'password', 'Use at least 8 characters.'],
      [
        '4 characters that are 8 units',
        { password: '😀😀😀😀', repeat: '😀😀😀😀' },
        'password',
        'Use at least 8 characters.',
      ],
      ['no second one', { password: 'secret-12' }, 'repeat', 'This is not the same'],
      ['another second one', { password: 'secret-12', repeat: 'secret-21' }, 'repeat', 'This is not the same'],
    ])('refuses %s beside the field, and sends nothing back', async (_, fields, field, mistake) => {
      await start();
      const response = await reset(fields);
      const text = await response.text();
      expect(response.status).toBe(400);
      expect(text).toMatch(new RegExp(`<p class="mistake" id="${field}-mistake">${mistake}`));
      expect(text).toMatch(
        new RegExp(`name="${field}"[^>]* aria-describedby="${field}-mistake[^>]* aria-invalid="true"`),
      );
      expect(text.match(/ aria-invalid="true"/g)).toHaveLength(1);
      expect(text).toContain('role="alert"');
      for (const sent of Object.values(fields)) expect(text).not.toContain(sent);
      expect(accounts.calledPatterns).toEqual(['accounts.inspectMailLink']);
    });

    it('says beside the field what accounts refuses', async () => {
      fail(emailsRpc.resetPassword, 'INVALID_PASSWORD');
      await start();
      const response = await reset(PASSWORDS);
      expect([response.status, await response.text()]).toEqual([400, expect.stringContaining('cannot be used')]);
    });

    it('helps password managers', async () => {
      await start();
      const text = await (await open('reset-password?token=a')).text();
      expect(text.match(/autocomplete="new-password"/g)).toHaveLength(2);
      expect(text).toMatch(/autocomplete="username" value="ada"/);
    });

    it.each(['before', 'meanwhile'])('says where the link expired %s', async (when) => {
      if (when === 'before') answerLink(EXPIRED);
      fail(emailsRpc.resetPassword, 'LINK_EXPIRED');
      await start();
      const response = await reset(PASSWORDS);
      // A second press of the button sends the form twice, and the browser shows the answer to the second.
      expect([response.status, await response.text()]).toEqual([410, expect.stringContaining('may be set already')]);
    });
  });
});
