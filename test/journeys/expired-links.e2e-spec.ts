import { describe, expect, it } from 'vitest';
import {
  ApiClient,
  createApplication,
  eventually,
  firstMailTo,
  linkIn,
  mailSentBy,
  setSetting,
  signUp,
  startStandalone,
  unique,
  useBrowser,
  useServer,
} from '#testing';

/** Long enough for the mail to leave on a busy machine: one whose link has expired is not sent. */
const LINK_SECONDS = 4;

describe('a server whose links live for seconds', () => {
  const server = useServer(() => startStandalone({ GATEPOST_VERIFICATION_LINK_SECONDS: String(LINK_SECONDS) }));
  const visit = useBrowser();

  it('offers a new mail for an expired link, in the language of the browser', async () => {
    const app = await createApplication(server());
    await setSetting(server(), app, 'verifyEmailOnSignUp', 'true');
    const api = ApiClient.forApp(server().baseUrls[0] ?? '', app);
    const email = `${unique('late')}@example.com`;
    const user = await signUp(api, { email });
    const { link, token } = linkIn(await firstMailTo(server(), email));

    const { page } = await visit({ locale: 'zh-CN' });
    const renewal = page.getByRole('button', { name: '发送新链接' });
    await eventually(async () => {
      await page.goto(link);
      expect(await renewal.count()).toBe(1);
    });
    expect((await api.post(`/1.1/verifyEmail/${token}`)).status).toBe(400);
    expect((await api.get('/1.1/users/me', { session: user.session })).body['emailVerified']).toBe(false);

    const mail = await mailSentBy(server(), email, async () => {
      await renewal.click();
      await page.getByRole('heading', { level: 1, name: '新链接已发出' }).waitFor();
      return { status: 200, body: {} };
    });
    expect(linkIn(mail).token).not.toBe(token);
    expect(mail.subject).toMatch(/[\u4e00-\u9fff]/);
  });
});
