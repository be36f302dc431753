import AV from 'leancloud-storage';
import { describe, expect, it } from 'vitest';
import {
  appClient,
  eventually,
  type GatepostServer,
  isProvided,
  linkIn,
  type ReceivedMail,
  SERVERS,
  setSetting,
  startServices,
  startStandalone,
  unique,
  useBrowser,
  useServer,
  useSmtpSink,
  type Visit,
} from '#testing';

const NEW_PASSWORD = 'four words are enough';

const SHAPES = [
  {
    name: 'the services',
    parts: SERVERS,
    start: (env: Record<string, string>) => startServices({ gateway: 2, accounts: 2, mail: 2 }, env),
  },
  { name: 'the standalone server', parts: [], start: startStandalone },
].filter(({ parts }) => isProvided(...parts));

describe.each(SHAPES)('$name, an SMTP server that wants TLS and a login, the SDK and a browser', ({ start }) => {
  const sink = useSmtpSink({ tls: 'starttls', account: { user: 'gatepost', password: 'secret' } });
  const server = useServer(() => start(sink().env()));
  const visit = useBrowser();

  const nextMailTo = (address: string, known: readonly ReceivedMail[] = []): Promise<ReceivedMail> =>
    eventually(async () => {
      const before = new Set(known.map(({ messageId }) => messageId));
      const mail = (await sink().mailsTo(address)).find(({ messageId }) => !before.has(messageId));
      if (mail === undefined) throw new Error(`no mail to ${address}`);
      return mail;
    });

  it('take a new user from the sign-up to a verified address, and on to a new password', async () => {
    await setSetting(server(), server().app, 'verifyEmailOnSignUp', 'true');
    const { id: appId, appKey } = server().app;
    AV.init({ appId, appKey, serverURL: server().baseUrls[0] ?? '' });
    const user = await eventually(signUp);
    const email = user.getEmail();

    const verification = await nextMailTo(email);
    const reader = await visit({ locale: 'en-GB' });
    await press(reader, linkIn(verification).link, 'Your address is verified');
    expect((await user.fetch()).get('emailVerified')).toBe(true);

    await AV.User.requestPasswordReset(email);
    const reset = await nextMailTo(email, [verification]);
    const { page } = reader;
    await page.goto(linkIn(reset).link);
    for (const field of await page.locator('input[type=password]').all()) await field.fill(NEW_PASSWORD);
    await press(reader, undefined, 'Your password is changed');

    const loggedIn = await AV.User.logIn(user.getUsername(), NEW_PASSWORD);
    expect(loggedIn.getSessionToken()).not.toBe(user.getSessionToken());
    await expectOldSessionDead(server(), user.getSessionToken());
    expect(reader.complaints).toEqual([]);
    expect(await sink().mailsTo(email)).toHaveLength(2);
  }, 60_000);
});

/** Settings take effect everywhere within a second: until then users need not verify an address. */
async function signUp(): Promise<AV.User> {
  const user = new AV.User();
  const username = unique('ada');
  user.setUsername(username);
  user.setPassword('correct horse');
  user.setEmail(`${username}@example.com`);
  await user.signUp();
  expect(user.get('emailVerified')).toBe(false);
  return user;
}

async function press({ page }: Visit, link: string | undefined, title: string): Promise<void> {
  if (link !== undefined) await page.goto(link);
  await page.getByRole('button').click();
  await page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor();
}

async function expectOldSessionDead(server: GatepostServer, session: string): Promise<void> {
  for (const gateway of server.baseUrls.keys())
    expect((await appClient(server, gateway).get('/1.1/users/me', { session })).body['code']).toBe(211);
}
