import { beforeAll, describe, expect, it } from 'vitest';
import {
  ApiClient,
  createApplication,
  firstMailTo,
  type GatepostServer,
  linkIn,
  linkSentBy,
  signUp,
  unique,
} from '#testing';
import { changeSettings } from './email-client.js';

const FORM = { headers: { 'content-type': 'application/x-www-form-urlencoded' } };
const PASSWORDS = 'password=new+password&repeat=new+password';
const newAddress = () => `${unique('reader')}@example.com`;
const PAGES = ['verify-email', 'reset-password'];

/** The answers of pages and routes of mailed links to programs: scanners, and pages of an application's own. */
export function describePageAnswers(server: () => GatepostServer): void {
  describe('pages and routes of mailed links, as programs see them', () => {
    const anybody = () => new ApiClient(server().baseUrls[0] ?? '', {});
    /** Without verification, so that the only mails are those to reset. */
    let api: ApiClient;
    let verifying: ApiClient;
    const post = async (page: string, body: string) => (await anybody().post(`/pages/${page}`, body, FORM)).status;
    const linkToReset = async () => {
      const email = newAddress();
      const user = await signUp(api, { email });
      const { token } = await linkSentBy(server(), email, () => api.post('/1.1/requestPasswordReset', { email }));
      return { user, token };
    };
    const linkToVerify = async () => {
      const email = newAddress();
      const user = await signUp(verifying, { email });
      return { user, token: linkIn(await firstMailTo(server(), email)).token };
    };

    beforeAll(async () => {
      const [plain, other] = [await createApplication(server()), await createApplication(server())];
      const { baseUrl } = anybody();
      [api, verifying] = [ApiClient.forApp(baseUrl, plain), ApiClient.forApp(baseUrl, other)];
      await changeSettings(server(), other, { verifyEmailOnSignUp: 'true' });
    });

    it('opening links changes nothing', async () => {
      const { user, token } = await linkToReset();
      for (const path of [
        '/pages/verify-email?token=',
        '/pages/reset-password?token=',
        '/1.1/verifyEmail/',
        '/1.1/resetPassword/',
      ]) {
        for (const method of ['GET', 'HEAD'])
          await fetch(`${anybody().baseUrl}${path}${token}`, { method, headers: { 'user-agent': 'Scanner' } });
      }
      expect((await api.get('/1.1/users/me', { session: user.session })).status).toBe(200);
      expect((await anybody().get(`/pages/reset-password?token=${token}`)).status).toBe(200);
    });

    it('a page of the application itself sets a password by a POST, or by a script', async () => {
      const byPost = await linkToReset();
      const path = `/1.1/resetPassword/${byPost.token}`;
      expect((await anybody().post(path, {})).body['code']).toBe(201);
      expect((await anybody().post(path, { password: 1 })).body['code']).toBe(218);
      expect(await anybody().post(path, { password: 'next' })).toMatchObject({ status: 200, body: {} });
      expect((await anybody().post(path, { password: 'next' })).body['code']).toBe(1);

      const byScript = await linkToReset();
      const url = `/1.1/resetPassword/${byScript.token}?password=${encodeURIComponent('via script')}`;
      expect((await anybody().get(url)).status).toBe(400);
      expect((await anybody().get(`${url}%E4&callback=a.b`)).text).toMatch(/a\.b\(\{"code":107,/);
      expect((await anybody().get(`${url}&callback=a.b`)).text).toBe("/**/typeof a.b === 'function' && a.b({});");
      expect((await anybody().get(`${url}&callback=a.b`)).text).toMatch(/a\.b\(\{"code":1,/);
      const { username } = byScript.user;
      expect((await api.post('/1.1/login', { username, password: 'via script' })).status).toBe(200);
    });

    it('a page of the application itself verifies an address by a POST, or by a script', async () => {
      const { user, token } = await linkToVerify();
      const path = `/1.1/verifyEmail/${token}`;
      expect((await anybody().get(path)).status).toBe(400);
      expect((await anybody().get(`${path}?callback=cb`)).text).toBe("/**/typeof cb === 'function' && cb({});");
      expect(await anybody().post(path)).toMatchObject({ status: 200, body: {} });
      expect((await anybody().post('/1.1/verifyEmail/unknown')).body['code']).toBe(1);
      expect((await verifying.get('/1.1/users/me', { session: user.session })).body['emailVerified']).toBe(true);
      expect((await anybody().get(`/pages/verify-email?token=${token}`)).text).toContain('Already verified');
      expect(await post('verify-email', `token=${token}`)).toBe(200);
    });

    it.each(PAGES)('/pages/%s says what is wrong with a link or a form', async (page) => {
      expect((await anybody().get(`/pages/${page}?token=unknown`)).status).toBe(410);
      for (const path of [page, `${page}/renew`]) {
        expect(await post(path, 'token=unknown')).toBe(410);
        expect(await post(path, 'token=a&token=b')).toBe(400);
        expect(await post(path, `token=${'a'.repeat(10_000)}`)).toBe(413);
      }
    });

    it.each(PAGES)('a token of /pages/%s opens nothing but what it was sent for, and only whole', async (page) => {
      const { token } = await (page === 'reset-password' ? linkToReset() : linkToVerify());
      const [other = ''] = PAGES.filter((each) => each !== page);
      for (const [path, shown] of [
        [other, token],
        [page, token.slice(0, -1)],
        [page, `${token}A`],
        [page, `${token}%00`],
        [page, token.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'))],
      ] as const) {
        expect((await anybody().get(`/pages/${path}?token=${shown}`)).status, shown).toBe(410);
        expect(await post(path, `token=${shown}&${PASSWORDS}`), shown).toBe(410);
      }
      expect((await anybody().get(`/pages/${page}?token=${token}`)).status).toBe(200);
    });

    it('a used link is renewed, until there are too many mails', async () => {
      const { token } = await linkToReset();
      expect(await post('reset-password', `token=${token}&${PASSWORDS}`)).toBe(200);
      const statuses = new Set<number>();
      for (let sent = 0; sent < 30 && !statuses.has(429); sent += 1)
        statuses.add(await post('reset-password/renew', `token=${token}`));
      expect([...statuses]).toEqual([200, 429]);
    });
  });
}
