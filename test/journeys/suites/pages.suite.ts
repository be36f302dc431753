import { beforeAll, describe, expect, it } from 'vitest';
import {
  ApiClient,
  type AppKeys,
  createApplication,
  firstMailTo,
  type GatepostServer,
  isProvided,
  linkIn,
  linkSentBy,
  mailSentBy,
  signUp,
  type TestUser,
  unique,
  useBrowser,
  type Visit,
} from '#testing';
import { changeSettings } from './email-client.js';

const PHONE = { width: 390, height: 844 };
/** As large as a finger (WCAG 2.5.5). */
const TARGET_SIZE = 44;

/** The way through the pages of mailed links, with a real browser. */
export function describePages(server: () => GatepostServer): void {
  describe.runIf(isProvided('browser'))('pages of mailed links, in a browser', () => {
    const visit = useBrowser();
    let app: AppKeys;
    let api: ApiClient;
    const newAddress = () => `${unique('reader')}@example.com`;
    const me = async ({ session }: Pick<TestUser, 'session'>) => api.get('/1.1/users/me', { session });
    const isVerified = async (user: TestUser) => (await me(user)).body['emailVerified'];
    const linkToReset = (email: string) =>
      linkSentBy(server(), email, () => api.post('/1.1/requestPasswordReset', { email }));
    const signUpByMail = async (): Promise<{ user: TestUser; email: string; link: string }> => {
      const email = newAddress();
      const user = await signUp(api, { email });
      return { user, email, link: linkIn(await firstMailTo(server(), email)).link };
    };

    beforeAll(async () => {
      app = await createApplication(server());
      api = ApiClient.forApp(server().baseUrls[0] ?? '', app);
      await changeSettings(server(), app, { verifyEmailOnSignUp: 'true' });
    });

    it('a new user verifies the address by a button; to open the link is not enough, and the second time it is done', async () => {
      const { user, email, link } = await signUpByMail();
      const reader = await visit({ locale: 'en-GB', viewport: PHONE });
      await reader.page.goto(link);
      expect(await reader.page.innerText('main')).toContain(email);
      await expectComfort(reader);
      expect(await isVerified(user)).toBe(false);

      await reader.page.getByRole('button', { name: 'Verify this address' }).click();
      await seeTitle(reader, 'Your address is verified');
      expect(await isVerified(user)).toBe(true);

      await reader.page.goto(link);
      await seeTitle(reader, 'Already verified');
      expect(await reader.page.getByRole('button').count()).toBe(0);
      await expectDiscretion(reader, link);
    });

    it('pressing the button twice verifies the address once', async () => {
      const { link } = await signUpByMail();
      const [first, second] = [await visit(), await visit()];
      for (const { page } of [first, second]) await page.goto(link);
      for (const { page } of [first, second]) await page.getByRole('button').click();
      await seeTitle(first, 'Your address is verified');
      await seeTitle(second, 'Already verified');
    });

    it('a user who forgot the password sets a new one', async () => {
      const { user, email } = await signUpByMail();
      const { link } = await linkToReset(email);
      const reader = await visit({ locale: 'en-US', viewport: PHONE });
      const { page } = reader;
      await page.goto(link);
      await expectComfort(reader);
      expect(await page.locator('input:focus').getAttribute('id')).toBe('password');

      await page.getByLabel('New password', { exact: true }).fill('a new password');
      await page.getByLabel('New password, once more').fill('another password');
      await page.getByRole('button').click();
      const repeat = page.getByLabel('New password, once more');
      expect(await page.getByRole('alert').innerText()).toContain('not changed');
      expect(await repeat.getAttribute('aria-invalid')).toBe('true');
      expect(await page.locator(`#${(await repeat.getAttribute('aria-describedby')) ?? ''}`).innerText()).toContain(
        'not the same',
      );
      expect(await page.locator('input:focus').getAttribute('id')).toBe('repeat');
      expect(await page.getByLabel('New password', { exact: true }).inputValue()).toBe('');
      expect((await me(user)).status).toBe(200);

      await page.getByLabel('New password', { exact: true }).fill('a new password 密码');
      await repeat.fill('a new password 密码');
      await page.getByRole('button').click();
      await seeTitle(reader, 'Your password is changed');
      const { username } = user;
      expect((await api.post('/1.1/login', { username, password: 'a new password 密码' })).status).toBe(200);
      expect((await api.post('/1.1/login', { username, password: user.password })).status).toBe(400);
      expect((await me(user)).status).toBe(400);
      await expectDiscretion(reader, link);
    });

    it('a used link leads to a new one', async () => {
      const { email } = await signUpByMail();
      const { link, token } = await linkToReset(email);
      expect((await api.post(`/1.1/resetPassword/${token}`, { password: 'first password' })).status).toBe(200);
      const reader = await visit({ locale: 'zh-CN', viewport: PHONE, javaScriptEnabled: false });
      await reader.page.goto(link);
      await seeTitle(reader, '链接已失效');
      await expectComfort(reader);
      const press = async () => {
        await reader.page.getByRole('button', { name: '发送新链接' }).click();
        await seeTitle(reader, '新链接已发出');
        return { status: 200, body: {} };
      };
      const mail = await mailSentBy(server(), email, press);
      expect(mail.subject).toMatch(/[\u4e00-\u9fff]/);

      await reader.page.goto(linkIn(mail).link);
      await seeTitle(reader, '设置新密码');
      await reader.page.getByLabel('新密码', { exact: true }).fill('second password');
      await reader.page.getByLabel('再次输入新密码').fill('second password');
      await reader.page.getByRole('button').click();
      await seeTitle(reader, '密码修改成功');
      expect((await api.post('/1.1/login', { email, password: 'second password' })).status).toBe(200);
      await expectDiscretion(reader, link);
    });

    it('an unknown link leads to a page that says so', async () => {
      const reader = await visit({ colorScheme: 'dark' });
      for (const page of ['verify-email', 'reset-password']) {
        await reader.page.goto(`${server().baseUrls[0] ?? ''}/pages/${page}?token="><script>alert(1)</script>`);
        await seeTitle(reader, 'This link has expired');
        expect(await reader.page.getByRole('button').count()).toBe(0);
      }
      expect(reader.complaints).toEqual([]);
    });

    it('a page of another origin can verify an address by a script element', async () => {
      const { user, link } = await signUpByMail();
      const { page } = await visit();
      const token = link.split('token=')[1] ?? '';
      const script = `${server().baseUrls[0] ?? ''}/1.1/verifyEmail/${token}?callback=done`;
      await page.setContent(
        `<p id="answer"></p><script>function done(answer) { document.getElementById('answer').textContent = JSON.stringify(answer); }</script><script src="${script}"></script>`,
      );
      expect(await page.innerText('#answer')).toBe('{}');
      expect(await isVerified(user)).toBe(true);
    });
  });
}

/** The click before it waits for the next page. */
async function seeTitle({ page }: Visit, title: string): Promise<void> {
  await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor();
  expect(await page.title()).toContain(title);
}

/** Everything fits on the screen, and can be hit with a finger and read without glasses. */
async function expectComfort({ page }: Visit): Promise<void> {
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(PHONE.width);
  for (const target of await page.locator('button, input:visible').all()) {
    const box = await target.boundingBox();
    expect(Math.min(box?.height ?? 0, box?.width ?? 0)).toBeGreaterThanOrEqual(TARGET_SIZE);
  }
  const sizes = await page.evaluate<number[]>(
    '[...document.querySelectorAll("main *")].filter((each) => each.checkVisibility()).map((each) => parseFloat(getComputedStyle(each).fontSize))',
  );
  expect(Math.min(...sizes)).toBeGreaterThanOrEqual(16);
}

/** The browser contacted no other host, leaked the token to none, and reported no error. */
async function expectDiscretion({ requests, complaints }: Visit, link: string): Promise<void> {
  expect(complaints).toEqual([]);
  expect(new Set(requests.map((request) => new URL(request.url()).origin))).toEqual(new Set([new URL(link).origin]));
  const headers = await Promise.all(requests.map((request) => request.allHeaders()));
  expect(headers.filter(({ referer }) => referer !== undefined)).toEqual([]);
}
