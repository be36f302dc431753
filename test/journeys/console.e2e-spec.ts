import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import {
  ApiClient,
  appClient,
  freePorts,
  signUp,
  startStandalone,
  unique,
  useBrowser,
  useServer,
  useSmtpSink,
  type Visit,
} from '#testing';
import { consoleLooks } from './suites/console-looks.suite.js';

const PASSWORD = 'four words are enough';
const ADA = 'ada@example.com';
const BO = 'bo@example.com';

/** The page and the log must not have it: its reader receives the messages of the device. */
const INSTALLATION_ID = unique('secret-of-a-device');

const sink = useSmtpSink();
const server = useServer(async () =>
  startStandalone({ GATEPOST_CONSOLE_PORT: String(await freePorts(1)), ...sink().env() }),
);
const begin = useBrowser();
type Session = Awaited<ReturnType<ReturnType<Page['context']>['storageState']>>;
let session: Session | undefined;
const visits: Visit[] = [];
/** Every body that the server has sent to a page. */
const bodies: string[] = [];

async function visit(options: Parameters<typeof begin>[0] = { locale: 'en-GB' }): Promise<Visit> {
  const one = await begin(options);
  one.page.on('response', (response) => {
    response.text().then(
      (text) => bodies.push(text),
      () => undefined,
    );
  });
  visits.push(one);
  return one;
}

function setUpLink(): string {
  const link = /Console\s+(\S+)/.exec(server().main.stdout)?.[1];
  if (link === undefined) throw new Error('the server has printed no link');
  return link;
}

const origin = () => new URL(setUpLink()).origin;
const ofApp = (path: string) => `${origin()}/apps/${server().app.id}/${path}`;

async function signIn(page: Page, address: string, password: string): Promise<void> {
  await page.goto(`${origin()}/sign-in`);
  await page.getByLabel('E-mail address').fill(address);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** A page of the owner. All of them share one session. */
async function signedIn(): Promise<Page> {
  session ??= await (await signedInAnew()).context().storageState();
  const { page } = await visit({ locale: 'en-GB', storageState: session });
  return page;
}

/** A page with a session of its own. */
async function signedInAnew(): Promise<Page> {
  const { page } = await visit();
  await signIn(page, ADA, PASSWORD);
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
  return page;
}

describe('the operator console in a browser', () => {
  // A page that stays open asks the server again and again.
  afterEach(() => Promise.all(visits.map(({ page }) => page.context().close())));
  afterAll(() => {
    expect(visits.flatMap(({ complaints }) => complaints.filter((each) => !each.includes('net::ERR_ABORTED')))).toEqual(
      [],
    );
  });

  it('makes an owner of the printed link within a minute, and of one operator only', async () => {
    const startedAt = Date.now();
    const { page, requests } = await visit();
    await page.goto(setUpLink());
    await page.getByLabel('Name').fill('Ada Lovelace');
    await page.getByLabel('E-mail address').fill(ADA);
    await page.getByLabel('New password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Create the owner' }).click();
    await page.getByRole('navigation', { name: 'Pages' }).waitFor();
    expect(Date.now() - startedAt).toBeLessThan(60_000);
    expect(requests.map((request) => new URL(request.url()).origin)).not.toContainEqual(
      expect.not.stringMatching(origin()),
    );

    const late = await visit();
    await late.page.goto(setUpLink());
    await late.page.getByText('The link has expired, was already used').waitFor();
  });

  it('answers alike to a wrong password and an unknown address, and refuses a seventh attempt', async () => {
    const { page } = await visit();
    for (const address of [ADA, 'eve@example.com']) {
      await signIn(page, address, 'not the password');
      await page.getByText('The e-mail address or the password is wrong.').waitFor();
    }
    for (let attempt = 0; attempt < 6; attempt += 1) {
      const answer = page.waitForResponse(/\/api\/sign-in$/);
      await signIn(page, 'mallory@example.com', 'not the password');
      expect((await answer).status()).toBe(400);
    }
    await signIn(page, 'mallory@example.com', 'not the password');
    await page.getByText('Too many attempts.').waitFor();
  });

  it('creates an application', async () => {
    const page = await signedIn();
    await page.goto(`${origin()}/apps`);
    await page.getByRole('button', { name: 'New application' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('Second shop');
    await page.getByRole('dialog').getByLabel('Application id').fill('second-shop');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.waitForURL(/\/apps\/second-shop\//);
    await page.getByRole('button', { name: /now Second shop/ }).waitFor();
  });

  it('shows an invited support person what the role allows, and nothing else', async () => {
    const page = await signedIn();
    await page.goto(`${origin()}/operators`);
    await page.getByRole('button', { name: 'Invite an operator' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('Bo');
    await dialog.getByLabel('E-mail address').fill(BO);
    await dialog.getByLabel('Second shop').selectOption('support');
    await dialog.getByRole('button', { name: 'Invite an operator' }).click();
    const link = (await page.locator('[data-link]').textContent()) ?? '';

    const { page: theirs } = await visit();
    // Another link of the same kind changes the fragment only: the browser does not load the page again.
    await theirs.goto(link.replace(/#.*/, `#${'A'.repeat(43)}`));
    await theirs.getByText('The link has expired').waitFor();
    await theirs.goto(link);
    await theirs.getByLabel('New password').fill(PASSWORD);
    await theirs.getByRole('button', { name: 'Begin' }).click();
    const menu = theirs.getByRole('navigation', { name: 'Pages' });
    await menu.getByRole('link', { name: 'Settings' }).waitFor();
    expect(await menu.getByRole('link', { name: 'Operators' }).count()).toBe(0);
    await theirs.goto(`${origin()}/operators`);
    await theirs.getByText('You have no permission for this').waitFor();
    await theirs.goto(`${origin()}/apps/second-shop/settings?tab=keys`);
    await theirs.getByText('Master key', { exact: true }).waitFor();
    expect(await theirs.getByRole('button', { name: 'Replace keys' }).count()).toBe(0);
    await theirs.goto(ofApp('settings'));
    await theirs.getByText('The object does not exist, or you have no role for its application.').first().waitFor();
  });

  it('changes a setting at once, and undoes it', async () => {
    const page = await signedIn();
    await page.goto(ofApp('settings'));
    const flag = page.getByRole('switch', { name: /^hideContact/ });
    await flag.click({ force: true });
    await page.getByText('Saved.').waitFor();
    await expect.poll(() => flag.isChecked()).toBe(true);
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('The former value is back.').waitFor();
    await expect.poll(() => flag.isChecked()).toBe(false);
  });

  it('keeps what was typed while the session was over', async () => {
    const page = await signedIn();
    await page.goto(ofApp('settings'));
    const field = page.getByLabel('mailLanguage');
    await field.fill('zh-CN');
    await page.context().clearCookies();
    await page.getByRole('button', { name: 'Save' }).click();
    const dialog = page.getByRole('dialog', { name: 'The session is over' });
    await dialog.locator('input[type=password]').fill(PASSWORD);
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('Saved.').waitFor();
    await page.reload();
    await expect.poll(() => field.inputValue()).toBe('zh-CN');
  });

  it('finds a user by the begin of each identifier, and keeps an address out of the URL', async () => {
    const api = appClient(server());
    const found = await signUp(api, { username: 'zoe-one', email: 'zoe@example.com' });
    await signUp(api, { username: 'yan-two' });
    const page = await signedIn();
    await page.goto(ofApp('users'));
    const search = page.getByLabel('Search', { exact: true });
    const rows = page.getByRole('table', { name: 'Users' }).getByRole('link');
    for (const text of ['zoe-', 'zoe@exa', found.id]) {
      await search.fill(text);
      await expect.poll(() => rows.allTextContents()).toEqual(['zoe-one']);
      expect(page.url().includes('zoe%40')).toBe(false);
    }
    await search.fill('zoe-');
    await page.waitForURL(/q=zoe-/);
    await page.reload();
    await expect.poll(() => rows.allTextContents()).toEqual(['zoe-one']);
    await search.fill('nothing begins like this');
    await page.getByText('Nothing matches the filters').waitFor();
  });

  it('keeps no user selected that another search has put out of sight', async () => {
    const api = appClient(server());
    await signUp(api, { username: 'ida-one', email: 'ida@example.com' });
    await signUp(api, { username: 'ida-two', email: 'two@example.com' });
    const page = await signedIn();
    await page.goto(ofApp('users?q=ida-'));
    const search = page.getByLabel('Search', { exact: true });
    const choice = page.getByRole('checkbox', { name: 'Select ida-one' });
    // An address changes the history of the tab, a name the URL.
    for (const [text, found] of [
      ['two@example.com', 'ida-two'],
      ['ida-two', 'ida-two'],
    ] as const) {
      await choice.check();
      await page.getByText('1 selected').waitFor();
      await search.fill(text);
      await page.getByRole('checkbox', { name: `Select ${found}` }).waitFor();
      await expect.poll(() => choice.count()).toBe(0);
      expect(await page.getByText('1 selected').count()).toBe(0);
      // In sight again, and seen to be selected.
      await search.fill('ida-');
      await expect.poll(() => choice.isChecked()).toBe(true);
    }
  });

  it('changes a field of a user and undoes it, but never what another has changed since', async () => {
    const { id } = await signUp(appClient(server()), { username: 'ren-one' });
    const page = await signedIn();
    const name = () => page.getByLabel('User name');
    const saveAs = async (text: string) => {
      await name().fill(text);
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await page.getByText('Saved.').last().waitFor();
    };
    await page.goto(ofApp(`users/${id}`));
    await saveAs('ren-two');
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('The former value is back.').waitFor();
    await expect.poll(() => name().inputValue()).toBe('ren-one');

    const other = await signedIn();
    await other.goto(ofApp(`users/${id}`));
    await name().fill('mine');
    await other.getByLabel('User name').fill('theirs');
    await other.getByRole('button', { name: 'Save', exact: true }).click();
    await other.getByText('Saved.').waitFor();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('This has changed since you began to edit').waitFor();
    await page.getByRole('cell', { name: 'theirs', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Save what I typed' }).click();
    await page.getByText('Saved.').last().waitFor();
    await expect.poll(() => name().inputValue()).toBe('mine');
    await other.getByRole('button', { name: 'Undo' }).click();
    await other.getByText('The object has changed since, so nothing was written.').waitFor();
  });

  it('shows why a mail is dead, and sends it again', async () => {
    const email = 'kim@example.com';
    const api = appClient(server());
    await signUp(api, { username: 'kim-one', email });
    sink().refuse(email, 550);
    expect((await api.post('/1.1/requestPasswordReset', { email })).status).toBe(200);
    const page = await signedIn();
    await page.goto(ofApp('messages?status=dead'));
    await page.getByRole('link', { name: email }).click();
    await page.getByText('550 refused by the test').first().waitFor();
    sink().mend();
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('status').getByText('sent', { exact: true }).waitFor();
    expect(await sink().mailsTo(email)).toHaveLength(1);
  });

  it('previews a template that is not saved, and sends it to the operator as a test', async () => {
    const page = await signedIn();
    await page.goto(ofApp('templates/verifyEmail/en'));
    await page.getByLabel('Subject').fill('Not saved, {{username}}');
    await page.getByText(/^Not saved, \w+/).waitFor();
    await page.getByRole('button', { name: 'Send me a test' }).click();
    await expect
      .poll(async () => (await sink().mailsTo(ADA)).map(({ subject }) => subject))
      .toEqual([expect.stringMatching(/^Not saved, \w+/)]);
  });

  it('counts and previews a push, sends it, and shows the device', async () => {
    const installation = { deviceType: 'android', installationId: INSTALLATION_ID, channels: ['console'] };
    await appClient(server()).post('/1.1/installations', installation);
    const page = await signedIn();
    await page.goto(ofApp('pushes/new'));
    await page.getByRole('radio', { name: 'Channels' }).check();
    await page.getByRole('textbox', { name: 'Channels' }).fill('console');
    await page.getByLabel('Text').fill('hello, devices');
    await page.locator('[data-audience="1"]').waitFor();
    await page.locator('code', { hasText: '"alert":"hello, devices"' }).first().waitFor();
    const shownOf = (type: string) => page.getByText(type, { exact: true }).locator('~ pre').textContent();
    await page.getByLabel('For device type').selectOption('ios');
    await page.getByLabel('Text').fill('hello, iPhones');
    await expect.poll(() => shownOf('ios')).toContain('"alert":"hello, iPhones"');
    await page.getByLabel('For device type').selectOption('Every device');
    await expect.poll(() => page.getByLabel('Text').inputValue()).toBe('hello, devices');
    await page.getByRole('button', { name: 'Send to 1 device' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Send the push' }).click();
    await page.waitForURL(/\/pushes\/(?!new)[\w-]+$/);
    await expect.poll(() => page.locator('[data-part="targeted"]').textContent()).toBe('1');

    await page.goto(ofApp('devices?channel=console'));
    await page.getByRole('table', { name: 'Devices' }).getByRole('link').click();
    const channels = page.getByLabel('Channels');
    await expect.poll(() => channels.inputValue()).toBe('console');
    await channels.fill('console, news');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
    await page.reload();
    await expect.poll(() => channels.inputValue()).toBe('console, news');
  });

  it('exports the users that a filter or a selection names, and has it in the audit log', async () => {
    const api = appClient(server());
    for (const username of ['=export()', 'export, "two"', 'export\u2028three']) await signUp(api, { username });
    const page = await signedIn();
    const save = async (button: string, format: string) => {
      await page.getByRole('button', { name: button, exact: true }).click();
      const download = page.waitForEvent('download');
      await page.getByRole('menuitem', { name: format }).click();
      const file = await download;
      expect(file.suggestedFilename()).toMatch(/^users-[\w-]+\.(?:csv|jsonl)$/);
      return readFileSync(await file.path(), 'utf8');
    };
    await page.goto(ofApp('users?q=export'));
    await expect.poll(() => page.getByRole('table', { name: 'Users' }).getByRole('link').count()).toBe(2);
    const csv = (await save('Export', 'CSV')).split('\r\n');
    expect(csv).toHaveLength(4);
    expect(csv[0]).toMatch(/^\uFEFFobjectId,username,/);
    expect(csv[1]).toContain(',export\u2028three,');
    expect(csv[2]).toContain(',"export, ""two""",');
    const lines = (await save('Export', 'JSON lines')).trimEnd().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { username: string }).username)).toEqual([
      'export\u2028three',
      'export, "two"',
    ]);

    await page.goto(ofApp('users?q=%3Dexport'));
    await page.getByRole('checkbox', { name: 'Select =export()' }).check();
    expect(await save('Export these', 'CSV')).toContain(",'=export(),");

    await page.goto(`${origin()}/audit?action=exportUsers`);
    await page.getByRole('button', { name: 'Users exported' }).first().click();
    await page.getByText('Target: 1 rows').waitFor();
  });

  it('asks for a proof before an export, and saves no file of one that is stopped', async () => {
    // A proof replaces the session.
    const page = await signedInAnew();
    await page.goto(ofApp('devices'));
    let downloads = 0;
    page.on('download', () => (downloads += 1));
    let asked = 0;
    await page.route('**/devices/export*', async (route) => {
      asked += 1;
      const json = { code: 403, error: 'A proof is needed.', name: 'PROOF_REQUIRED', requestId: 'r' };
      // The second request stays without an answer.
      if (asked === 1) await route.fulfill({ status: 403, json });
    });
    await page.getByRole('button', { name: 'Export', exact: true }).click();
    await page.getByRole('menuitem', { name: 'CSV' }).click();
    const dialog = page.getByRole('dialog', { name: 'Confirm that it is you' });
    await dialog.locator('input[type=password]').fill(PASSWORD);
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await expect.poll(() => asked).toBe(2);
    await page.getByRole('button', { name: 'Stop the export' }).click();
    await page.getByRole('button', { name: 'Export', exact: true }).waitFor();
    expect([downloads, await page.getByText('This did not work').count()]).toEqual([0, 0]);
  });

  it('draws what has happened by day, with the figures as a table', async () => {
    const api = appClient(server());
    const { username, password } = await signUp(api);
    expect((await api.post('/1.1/login', { username, password })).status).toBe(200);
    const authData = { anonymous: { id: randomUUID() } };
    expect((await api.post('/1.1/users', { authData })).status).toBe(201);
    expect((await api.post('/1.1/users', { authData })).status).toBe(200);
    const page = await signedIn();
    const logins = async () => {
      await page.goto(ofApp('overview'));
      return page.getByRole('img', { name: /^Logins by day/ }).getAttribute('aria-label');
    };
    // The logins are stored within seconds; the sign-ups are none.
    await expect.poll(logins, { timeout: 20_000 }).toBe('Logins by day: Logins: 2');
    const plot = page.getByRole('figure').filter({ hasText: 'Sign-ups' });
    await plot.getByRole('img', { name: /^Sign-ups by day: Sign-ups: [1-9]\d*$/ }).waitFor();
    await plot.getByText('Sign-ups as a table').click();
    const today = plot.getByRole('row').last();
    await today.getByRole('rowheader', { name: new Date().toISOString().slice(0, 10) }).waitFor();
    expect(Number(await today.getByRole('cell').last().textContent())).toBeGreaterThan(0);
  });

  it('replaces the application key, keeps the old one for a while, and revokes it', async () => {
    const { app, baseUrls } = server();
    const meStatus = async (appKey: string) =>
      (await ApiClient.forApp(baseUrls[0] ?? '', { ...app, appKey }).get('/1.1/users/me')).body['code'];
    const isAccepted = async (appKey: string) => (await meStatus(appKey)) !== 401;
    const page = await signedIn();
    await page.goto(ofApp('settings?tab=keys'));
    await page.getByRole('button', { name: 'Replace keys' }).click();
    const dialog = page.getByRole('dialog', { name: 'Replace keys' });
    await dialog.getByLabel('Master key').uncheck();
    await dialog.getByLabel('Application key').check();
    await dialog.getByRole('button', { name: 'Replace keys' }).click();
    await page.getByText('The new keys count.').waitFor();
    const shown = page.locator('code').first();
    await expect.poll(() => shown.textContent()).not.toBe(app.appKey);
    const newKey = (await shown.textContent()) ?? '';
    expect([await isAccepted(newKey), await isAccepted(app.appKey)]).toEqual([true, true]);

    await page.getByRole('button', { name: 'Revoke the old keys' }).click();
    const confirmation = page.getByRole('dialog', { name: 'Revoke the old keys' });
    await confirmation.getByLabel(/to confirm/).fill(app.id);
    await confirmation.getByRole('button', { name: 'Revoke the old keys' }).click();
    await page.getByText('The old keys are revoked.').waitFor();
    await expect.poll(() => isAccepted(app.appKey)).toBe(false);
    expect(await isAccepted(newKey)).toBe(true);
  });

  it('has each act in the audit log', async () => {
    const page = await signedIn();
    await page.goto(`${origin()}/audit`);
    for (const act of ['Keys replaced', 'Old keys revoked', 'Setting changed', 'Operator invited'])
      await page.getByRole('button', { name: act }).first().waitFor();
  });

  it.each([
    ['the master key', () => server().app.masterKey],
    ['the id of an installation', () => INSTALLATION_ID],
  ])('has shown %s to no page', (_, secret) => {
    expect(bodies.length).toBeGreaterThan(100);
    expect(bodies.filter((body) => body.includes(secret()))).toEqual([]);
  });
});

consoleLooks({ visit, origin, ofApp, operator: { address: ADA, password: PASSWORD } });
