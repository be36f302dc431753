import { request } from 'node:http';
import { beforeEach, describe, expect, it } from 'vitest';
import type { ApiReply, GatepostServer } from '#testing';
import { EmailClient, type MailingApps, OWN_PAGES, uniqueEmail } from './email-client.js';
import { refusal } from './refusal.js';

const HAN = /\p{Script=Han}/u;

/** The settings of an application for its mails, and their protection from clients. */
export function describeEmailSettings(server: () => GatepostServer, apps: () => MailingApps): void {
  describe('mails of an application', () => {
    let client: EmailClient;

    beforeEach(() => {
      client = new EmailClient(server(), apps().verifying);
    });

    /** Posts with headers that fetch does not let through. */
    const post = (path: string, headers: Record<string, string>, body: unknown) =>
      new Promise<Pick<ApiReply, 'status' | 'body'>>((resolve, reject) => {
        const { id, appKey } = apps().verifying;
        const sent = { 'x-lc-id': id, 'x-lc-key': appKey, 'content-type': 'application/json', ...headers };
        const call = request(`${server().baseUrls[0] ?? ''}${path}`, { method: 'POST', headers: sent }, (response) => {
          response.resume().once('end', () => {
            resolve({ status: response.statusCode ?? 0, body: {} });
          });
        });
        call.once('error', reject).end(JSON.stringify(body));
      });

    it.each([
      ['zh-CN,zh;q=0.9,en;q=0.8', true],
      ['en-US,en;q=0.9,zh;q=0.8', false],
      ['xx,*;q=0.1', false],
      ['../../../etc/passwd', false],
    ])('are written in the language of who asks: %s', async (language, isChinese) => {
      const headers = { 'accept-language': language };
      const body = { username: uniqueEmail(), password: 'p', email: client.address };
      const verifying = await client.mailOf(() => client.api().post('/1.1/users', body, { headers }));
      const resetting = await client.mailOf(() =>
        client.api().post('/1.1/requestPasswordReset', { email: client.address }, { headers }),
      );
      for (const { subject, text, html } of [verifying, resetting])
        expect([subject, text, html].map((part) => HAN.test(part))).toEqual([isChinese, isChinese, isChinese]);
    });

    it('are never led elsewhere by headers of a request', async () => {
      const headers = {
        host: 'evil.example',
        'x-forwarded-host': 'evil.example',
        'x-forwarded-proto': 'gopher',
        'x-forwarded-port': '666',
        'x-original-url': 'http://evil.example/',
        forwarded: 'host=evil.example;proto=gopher',
        origin: 'http://evil.example',
        referer: 'http://evil.example/',
      };
      const body = { username: uniqueEmail(), password: 'p', email: client.address };
      const mails = [
        await client.mailOf(() => post('/1.1/users', headers, body) as Promise<ApiReply>),
        await client.mailOf(() => post('/1.1/requestPasswordReset', headers, body) as Promise<ApiReply>),
      ];
      for (const { raw, text } of mails) {
        expect(raw).not.toMatch(/evil|gopher/);
        expect(text).toMatch(/http:\/\/localhost:\d+\/pages\//);
      }
    });

    it('lead to pages of its own, and are written in its language', async () => {
      const customer = new EmailClient(server(), apps().own);
      const { user, link } = await customer.signUpForLink();
      expect(link.link).toBe(`${OWN_PAGES.verifyEmailPage}?token=${link.token}`);
      const reset = await customer.linkBy('requestPasswordReset');
      expect(reset.link).toBe(`${OWN_PAGES.resetPasswordPage}&token=${reset.token}`);
      for (const { subject, html } of await customer.mails())
        expect([HAN.test(subject), HAN.test(html)]).toEqual([true, true]);
      expect(await customer.jsonp(`verifyEmail/${link.token}`)).toEqual({});
      expect((await customer.me(user.session))['emailVerified']).toBe(true);
    });

    it.each([
      'a@example.com\r\nBcc: b@example.com',
      'a@example.com\n',
      'a@example.com\0',
      'a@example.com,b@example.com',
      'a@example.com, b@example.com',
      'a@example.com;b@example.com',
      'a@example.com b@example.com',
      'a@example.com@example.org',
      '<a@example.com>',
      'A <a@example.com>',
      '"a b"@example.com',
      'a@[127.0.0.1]',
      `${'a'.repeat(65)}@example.com`,
      `a@${'b.'.repeat(130)}com`,
    ])('are sent to nothing like %j', async (email) => {
      expect(await refusal(client.api().post('/1.1/users', { username: uniqueEmail(), password: 'p', email }))).toEqual(
        [400, 125],
      );
      const user = await client.signUp({ email: undefined });
      expect(await refusal(client.change(user, { email }))).toEqual([400, 125]);
      for (const path of ['requestEmailVerify', 'requestPasswordReset'])
        expect((await refusal(client.post(path, { email })))[0]).toBe(400);
    });

    it.each(['bücher.example', '例子.测试', 'xn--bcher-kva.example', 'mañana.example.co.uk'])(
      'are sent to addresses at %s',
      async (domain) => {
        const abroad = new EmailClient(server(), apps().verifying, uniqueEmail(domain));
        const { user, link } = await abroad.signUpForLink();
        expect(user.body['email']).toBe(abroad.address);
        expect((await abroad.verify(link.token)).status).toBe(200);
      },
    );

    it('show what users chose as text, and nothing more', async () => {
      const username = `<img src=x onerror=alert(1)>{{link}} ${uniqueEmail()}`;
      await client.signUpForLink({ username });
      const { token } = await client.linkBy('requestPasswordReset');
      const mails = await client.mails();
      expect(mails).toHaveLength(2);
      for (const { html, subject, headers } of mails) {
        expect(html).not.toContain('<img src=x');
        expect([...headers.values()].join()).not.toContain(token);
        expect(subject).not.toMatch(/[\r\n]/);
      }
      expect(mails.map(({ html }) => html).join()).toContain('&lt;img src');
    });
  });
}
