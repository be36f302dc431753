import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import amqplib from 'amqplib';
import AV from 'leancloud-storage';
import type { Locator, Page } from 'playwright-core';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import WebSocket from 'ws';
import { type DeviceStore, memoryStore, PushClient } from '#push-client';
import {
  appClient,
  eventually,
  gatepost,
  gatepostReading,
  isProvided,
  linkIn,
  masterClient,
  SERVERS,
  signUp,
  TcpProxy,
  testRun,
  type TestUser,
  unique,
  useServer,
  useSmtpSink,
} from '#testing';
import { type Replica, startReplica } from '../load/replicas.js';
import { type ServerWithConsole, startOneProcess, startServicesWithConsoles, useOperator } from './suites/operator.js';
import { describeTestDevices } from './suites/test-devices.suite.js';

const NEW_PASSWORD = 'five words are even better';
/** Promised for connected devices; the page asks every second or two. */
const CONNECTED_SHOWN_MS = 5_000;
const BUSY_MACHINE_MS = 5_000;
/** Processes and servers are asked every few seconds, each until its deadline. */
const NOTICED_MS = 30_000;
const TWO_COUNTS_MS = 130_000;
const MAX_TABS = 120;

const SHAPES = [
  { name: 'services with two consoles in turn', parts: SERVERS, isOne: false, start: startServicesWithConsoles },
  { name: 'one process', parts: [], isOne: true, start: startOneProcess },
].filter(({ parts }) => isProvided(...parts));

const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name });

describe.each(SHAPES)('operators of $name', ({ start, isOne }) => {
  const sink = useSmtpSink();
  const server = useServer(() => start(sink().env())) as () => ServerWithConsole;
  const operator = useOperator(server);
  const devices: PushClient[] = [];

  afterEach(async () => {
    await Promise.all(devices.splice(0).map((device) => device.stop()));
  });

  const confirm = (page: Page, button: string) =>
    page.getByRole('dialog').getByRole('button', { name: button }).click();
  const mailTo = (address: string) =>
    eventually(async () => {
      const [first] = await sink().mailsTo(address);
      if (first === undefined) throw new Error(`no mail to ${address}`);
      return first;
    });
  const logIn = ({ username, password }: TestUser) => appClient(server()).post('/1.1/login', { username, password });
  const device = (level: number, store: DeviceStore = memoryStore()): PushClient => {
    const { baseUrls, app } = server();
    const client = new PushClient({
      server: baseUrls[0] ?? '',
      appId: app.id,
      registration: { appKey: app.appKey, fields: { deviceType: 'android', level } },
      store,
      WebSocket,
      onMessage: () => undefined,
      onError: () => undefined,
    });
    devices.push(client);
    client.start();
    return client;
  };
  /** Acts of the command line as its list of the audit log shows them, newest first, without times and names. */
  const actsOf = async (...filters: string[]) => {
    const { stdout } = await gatepost(server(), 'console', 'audit', ...filters);
    const lines = stdout.trim().split('\n');
    return lines.map((line) => line.replace(/^.*? {2}cli {2}/, ''));
  };
  const connected = (client: PushClient) =>
    eventually(() => {
      expect(client.state).toBe('connected');
    });

  it('see why a login is locked, and end the lock by a mailed reset', async () => {
    const email = `${unique('locked')}@example.com`;
    const user = await signUp(appClient(server()), { email });
    for (const account of [{ username: user.username }, { email }])
      for (let attempt = 0; attempt < 4; attempt += 1)
        await appClient(server()).post('/1.1/login', { ...account, password: 'wrong' });
    expect((await logIn(user)).body['code']).toBe(219);

    const page = await operator().open('limits');
    await page.getByRole('table', { name: 'Locked users' }).getByRole('link', { name: user.username }).click();
    await page.getByRole('heading', { name: 'Login locked' }).waitFor();
    const failures = await page
      .getByRole('listitem')
      .filter({ hasText: /by (?:user name|e-mail address)$/ })
      .allTextContents();
    expect(failures.map((text) => text.replace(/^.*\d\d:\d\d(?::\d\d)? (?:[ap]m )?/, ''))).toEqual([
      ...Array.from({ length: 4 }, () => 'by user name'),
      ...Array.from({ length: 3 }, () => 'by e-mail address'),
    ]);
    await page.getByRole('button', { name: 'Send a password reset' }).click();
    await confirm(page, 'Send');
    await page.getByText(`Sent to ${email}.`).waitFor();
    await page.getByRole('tab', { name: 'Messages' }).click();
    await page.getByRole('cell', { name: 'sent', exact: true }).waitFor();

    const mail = await mailTo(email);
    const reader = await operator().visit({ locale: 'en-GB' });
    await reader.goto(linkIn(mail).link);
    for (const field of await reader.locator('input[type=password]').all()) await field.fill(NEW_PASSWORD);
    await reader.getByRole('button').click();
    await reader.getByRole('heading', { level: 1, name: 'Your password is changed' }).waitFor();
    expect((await logIn({ ...user, password: NEW_PASSWORD })).status).toBe(200);
    await page.goto(operator().urlOf(`users/${user.id}`));
    await page.getByRole('heading', { name: 'Login not locked' }).waitFor();
  });

  it('find acts of the command line in the audit log, done and refused, without secrets', async () => {
    const { id } = server().app;
    const secret = unique('a-secret-that-is-long-enough-for-a-signature');
    const set = (name: string, value: string) => gatepost(server(), 'apps', 'set', id, name, value);
    expect(await set('hideContact', 'true')).toMatchObject({ status: 0, stderr: '' });
    expect(await set('hideContact', 'false')).toMatchObject({ status: 0 });
    expect(await set('hideContact', 'perhaps')).toMatchObject({ status: 1 });
    expect(await gatepostReading(secret, server(), 'apps', 'set', id, 'forwardSecret', '-')).toMatchObject({
      status: 0,
    });
    expect(await actsOf('--app', id, '--action', 'changeSetting')).toEqual([
      `changeSetting  ${id}  "forwardSecret"  done`,
      `changeSetting  ${id}  "hideContact"  refused (INCORRECT_TYPE)`,
      `changeSetting  ${id}  "hideContact"  done`,
      `changeSetting  ${id}  "hideContact"  done`,
    ]);
    const createdAt = '2026-01-01T00:00:00.000Z';
    const row = { objectId: '65f0a0a0a0a0a0a0a0a0a0a1', username: unique('import'), createdAt, updatedAt: createdAt };
    const folder = await mkdtemp(join(tmpdir(), 'gatepost-acts-'));
    await writeFile(join(folder, '_User.0.jsonl'), `${JSON.stringify(row)}\n`);
    const imported = (...more: string[]) => gatepost(server(), 'import', folder, '--app', id, ...more);
    expect(await imported()).toMatchObject({ status: 0 });
    expect(await imported('--apply')).toMatchObject({ status: 0 });
    expect(await actsOf('--app', id, '--action', 'importObjects')).toEqual([`importObjects  ${id}  -  done`]);
    await rm(folder, { recursive: true });
    expect(await gatepost(server(), 'secrets', 'rotate')).toMatchObject({ status: 0 });
    expect((await actsOf('--action', 'rotateSecret'))[0]).toMatch(/^rotateSecret .*done$/);
    const page = await operator().open(`/audit?action=changeSetting`);
    await page.getByRole('button', { name: 'Setting changed' }).first().click();
    await page.getByText('command line').first().waitFor();
    await page.getByText('(changed)').waitFor();
    expect(await page.content()).not.toContain(secret);
  });

  it('invite a colleague by mail, in the language of their page', async () => {
    const address = `${unique('colleague')}@example.com`;
    const page = await operator().openElsewhere('/operators', { locale: 'zh-CN' });
    await page.getByRole('button', { name: '邀请管理员' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('姓名').fill('Bo');
    await dialog.getByLabel('邮箱').fill(address);
    await dialog.getByRole('button', { name: '邀请管理员' }).click();
    await page.getByText('邀请链接也已发送到对方邮箱。').waitFor();
    const mail = await mailTo(address);
    expect(mail.subject).toBe('邀请您使用 Gatepost 控制台');
    expect(mail.headers.get('from')).toMatch(/^"?Gatepost"? </);

    const theirs = await operator().visit({ locale: 'en-GB' });
    await theirs.goto(/http\S+#\S+/.exec(mail.text)?.[0] ?? '');
    await theirs.getByLabel('New password').fill(NEW_PASSWORD);
    await theirs.getByRole('button', { name: 'Begin' }).click();
    await theirs.getByRole('button', { name: /Bo/ }).waitFor();
  });

  it('end a session: the next request of the SDK is refused', async () => {
    const user = await signUp(appClient(server()));
    const { id: appId, appKey } = server().app;
    AV.init({ appId, appKey, serverURL: server().baseUrls[0] ?? '' });
    const client = await AV.User.logIn(user.username, user.password);
    expect(await client.isAuthenticated()).toBe(true);
    const page = await operator().open(`users/${user.id}`);
    await page.getByRole('button', { name: 'End the session' }).click();
    await confirm(page, 'End the session');
    await page.getByText('The session is ended.').waitFor();
    expect(await client.isAuthenticated()).toBe(false);
    const { status, body } = await appClient(server()).get('/1.1/users/me', { session: client.getSessionToken() });
    expect([status, body['code']]).toEqual([400, 211]);
  });

  it('change an access list and a role, which clients notice at once', async () => {
    const api = appClient(server());
    const [shown, reader] = [await signUp(api), await signUp(api)];
    const mayRead = async () => (await api.get(`/1.1/users/${shown.id}`, { session: reader.session })).status === 200;
    const page = await operator().open('roles');
    await page.getByRole('button', { name: 'New role' }).click();
    const role = unique('friends').replaceAll('-', '_');
    await page.getByRole('dialog').getByLabel('Name').fill(role);
    await confirm(page, 'Create');
    await heading(page, role).waitFor();
    const ofRole = page.url();
    expect(await mayRead()).toBe(true);
    await page.goto(operator().urlOf(`users/${shown.id}?tab=access`));
    await page.getByText('There is no access list').waitFor();
    await page.getByLabel('User id or role').fill(`role:${role}`);
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Saved.').waitFor();
    expect(await mayRead()).toBe(false);

    await page.goto(ofRole);
    await page.getByLabel('User name or id', { exact: true }).fill(reader.id);
    await page.getByRole('button', { name: 'Add', exact: true }).first().click();
    await page.getByRole('table', { name: 'Users of the role' }).getByText(reader.username).waitFor();
    expect(await mayRead()).toBe(true);
    await page.getByRole('button', { name: `Remove ${reader.username}` }).click();
    await page.getByRole('table', { name: 'Users of the role' }).waitFor({ state: 'detached' });
    expect(await mayRead()).toBe(false);
  });

  it('see why a mail is refused, and send it again once the server is mended', async () => {
    const email = `${unique('refused')}@example.com`;
    await signUp(appClient(server()), { email });
    sink().refuse(email, 550);
    expect((await appClient(server()).post('/1.1/requestPasswordReset', { email })).status).toBe(200);
    const page = await operator().open('messages?status=dead');
    await page.getByRole('link', { name: email }).click();
    await page.getByText('550 refused by the test').first().waitFor();
    sink().mend();
    await page.getByRole('button', { name: 'Try again' }).click();
    // The page is not loaded again.
    await page.getByRole('status').getByText('sent', { exact: true }).waitFor();
    expect(await sink().mailsTo(email)).toHaveLength(1);
  });

  it('send a push by a condition, and watch it arrive on each device', async () => {
    const [store, level] = [memoryStore(), Math.floor(Math.random() * 1e6)];
    for (const client of [device(level), device(level), device(level + 1)]) await connected(client);
    const away = device(level, store);
    await connected(away);
    await away.stop();

    const page = await operator().open('pushes/new');
    await page.getByRole('radio', { name: 'A condition' }).check();
    await page.getByRole('button', { name: 'As JSON' }).click();
    await page.getByLabel('Condition as JSON').fill(JSON.stringify({ level }));
    await page.locator('[data-audience="3"]').waitFor();
    await page.getByLabel('Text').fill('x'.repeat(5_000));
    await page.getByText(/^5,\d{3} of 4,\d{3} bytes$/).waitFor();
    await page
      .getByText(/longer than 4,?\d{3} bytes|at most 4,?\d{3}/)
      .first()
      .waitFor();
    await page.getByLabel('Text').fill('Half price until Sunday');
    await page.getByText(/^\d{2,3} of 4,\d{3} bytes$/).waitFor();
    await page.getByRole('button', { name: 'Send to 3 devices' }).click();
    await confirm(page, 'Send the push');
    await page.waitForURL(/\/pushes\/(?!new)[\w-]+$/);
    const part = (name: string) => page.locator(`[data-part="${name}"]`).textContent();
    const funnel = async () => [await part('targeted'), await part('delivered'), await part('queued')];
    await expect.poll(funnel, { timeout: 15_000 }).toEqual(['3', '2', '1']);
    await connected(device(level, store));
    await expect.poll(funnel, { timeout: 15_000 }).toEqual(['3', '3', '0']);
    await page
      .getByRole('row', { name: /^delivered/ })
      .getByText('100%')
      .waitFor();
  });

  describeTestDevices(server, operator);

  it('see a device within seconds of its connection, and no longer once it has left', async () => {
    const page = await operator().open('devices?connected=true');
    await page.getByText('No device is connected').waitFor();
    const client = device(1);
    await connected(client);
    const rows = () => page.getByRole('table', { name: 'Connected now' }).getByRole('link').count();
    await expect.poll(rows, { timeout: CONNECTED_SHOWN_MS + BUSY_MACHINE_MS }).toBe(1);
    await client.stop();
    await page.getByText('No device is connected').waitFor({ timeout: CONNECTED_SHOWN_MS + BUSY_MACHINE_MS });
  });

  it('see in a plot how many devices were connected', { timeout: TWO_COUNTS_MS + NOTICED_MS }, async () => {
    for (let level = 0; level < 4; level += 1) await connected(device(level));
    const page = await operator().open('overview');
    const plot = page.getByRole('figure').filter({ hasText: 'Devices connected at once by hour' });
    const most = async () => {
      await page.reload();
      const name = await plot.getByRole('img').getAttribute('aria-label');
      return Number(/ most: (\d+)$/.exec(name ?? '')?.[1]);
    };
    await expect.poll(most, { timeout: TWO_COUNTS_MS, interval: 2_000 }).toBeGreaterThanOrEqual(4);
    await plot.getByText('by hour, last 7 days as a table').click();
    await plot.getByRole('row', { name: /:00 [4-9]$/ }).waitFor();
  });

  it.runIf(isOne)('unlink an account, and delete one user and three at once', async () => {
    const api = appClient(server());
    const prefix = unique('leaving');
    const [linked, ...others] = [
      await signUp(api, { username: prefix }),
      await signUp(api, { username: `${prefix}-1` }),
      await signUp(api, { username: `${prefix}-2` }),
      await signUp(api, { username: `${prefix}-3` }),
    ];
    const { session } = linked;
    await api.put(`/1.1/users/${linked.id}`, { authData: { github: { uid: unique('uid') } } }, { session });
    const page = await operator().open(`users/${linked.id}?tab=accounts`);
    await page.getByRole('button', { name: 'Unlink' }).click();
    await page.getByLabel('Type github to confirm').fill('github');
    await confirm(page, 'Unlink');
    await page.getByText('No linked account').waitFor();
    expect((await api.get('/1.1/users/me', { session })).body['authData'] ?? {}).toEqual({});
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByLabel(`Type ${prefix} to confirm`).fill(prefix);
    await confirm(page, 'Delete');
    await page.getByText('The user is deleted.').waitFor();
    expect((await api.get('/1.1/users/me', { session })).body['code']).toBe(211);

    await page.goto(operator().urlOf(`users?q=${prefix}`));
    for (const { username } of others) await page.getByRole('checkbox', { name: `Select ${username}` }).check();
    await page.getByRole('toolbar', { name: '3 selected' }).getByRole('button', { name: 'Delete' }).click();
    await page.getByLabel('Type 3 to confirm').fill('3');
    await confirm(page, 'Delete');
    await page.getByText('3 users are deleted.').waitFor();
    for (const user of others) expect((await logIn(user)).body['code']).toBe(211);
  });

  it.runIf(isOne)('change a class permission, which clients notice within seconds, and undo it', async () => {
    const { id, session } = await signUp(appClient(server()));
    const status = async () => (await appClient(server()).get(`/1.1/users/${id}`, { session })).status;
    const page = await operator().open('permissions');
    await page.getByRole('button', { name: 'Change _User: Read one' }).click();
    await page.getByRole('dialog').getByLabel('Who may').selectOption('only the master key');
    await confirm(page, 'Save');
    await page.getByText('Saved.').waitFor();
    await expect.poll(status).toBe(403);
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('The former value is back.').waitFor();
    await expect.poll(status).toBe(200);
  });

  it.runIf(isOne)('schedule a push in their own time zone, see it in another, and stop it', async () => {
    const page = await operator().openElsewhere('pushes/new', { timezoneId: 'Asia/Shanghai' });
    const year = new Date().getUTCFullYear() + 1;
    await page.getByLabel('Text').fill('Autumn sale');
    await page.getByRole('radio', { name: 'Later' }).check();
    await page.getByLabel('Time (Asia/Shanghai)').fill(`${year}-11-27T09:00`);
    await page.getByRole('button', { name: /^Schedule for 27 Nov/ }).click();
    await confirm(page, 'Schedule the push');
    await page.getByText('scheduled', { exact: true }).waitFor();
    await page.getByText(new RegExp(`^starts 27 Nov ${year}, 09:00`)).waitFor();
    const other = await operator().visit({
      locale: 'en-GB',
      timezoneId: 'America/New_York',
      storageState: await page.context().storageState(),
    });
    await other.goto(page.url());
    await other.getByText(new RegExp(`^starts 26 Nov ${year}, 20:00`)).waitFor();
    const scheduled = async () => (await masterClient(server()).get('/1.1/scheduledPushMessages')).body['results'];
    expect(await scheduled()).toHaveLength(1);
    await page.getByRole('button', { name: 'Stop the push' }).click();
    const id = page.url().split('/').at(-1) ?? '';
    await page.getByLabel(`Type ${id} to confirm`).fill(id);
    await confirm(page, 'Stop the push');
    await page.getByText('The push is stopped.').waitFor();
    expect(await scheduled()).toEqual([]);
  });

  it('learn of an upgrade while a page is open, and get the new page with the next one', async () => {
    const page = await operator().open('users');
    await heading(page, 'Users').waitFor();
    await page.route('**/api/**', async (route) => {
      const headers = { ...(await route.request().allHeaders()), 'sec-fetch-site': 'same-origin' };
      const response = await route.fetch({ headers });
      await route.fulfill({ response, headers: { ...response.headers(), 'x-gatepost-version': '99.0.0' } });
    });
    await page.getByRole('searchbox', { name: 'Search' }).fill('ada');
    await page.getByText('A new version of the console is here').waitFor();
    expect(await page.getByRole('searchbox', { name: 'Search' }).inputValue()).toBe('ada');
    const reloaded = page.waitForEvent('load');
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Devices' }).click();
    await reloaded;
    await heading(page, 'Devices').waitFor();
    expect(await page.getByText('A new version of the console is here').count()).toBe(0);
  });

  it.runIf(isOne)('find a user, change it, undo the change and end the session with the keyboard alone', async () => {
    const user = await signUp(appClient(server()), { username: unique('keys') });
    const page = await operator().open('overview');
    const tabTo = async (target: Locator) => {
      const focused = target.and(page.locator(':focus'));
      for (let step = 0; step < MAX_TABS && (await focused.count()) === 0; step += 1) await page.keyboard.press('Tab');
      expect(await focused.count()).toBe(1);
    };
    const press = async (target: Locator) => {
      await tabTo(target);
      await page.keyboard.press('Enter');
    };
    await heading(page, 'Overview').waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('textbox', { name: 'Search' }).and(page.locator(':focus')).waitFor();
    await page.keyboard.type(user.username);
    await page.getByRole('button', { name: user.username }).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL(new RegExp(`/users/${user.id}$`));
    await tabTo(page.getByLabel('User name'));
    await page.keyboard.press('End');
    await page.keyboard.type('-changed');
    await page.keyboard.press('Control+s');
    await page.getByText('Saved.').waitFor();
    await press(page.getByRole('button', { name: 'Undo' }));
    await page.getByText('The former value is back.').waitFor();
    await expect.poll(() => page.getByLabel('User name').inputValue()).toBe(user.username);
    await press(page.getByRole('button', { name: 'End the session' }));
    await press(page.getByRole('dialog').getByRole('button', { name: 'End the session' }));
    await page.getByText('The session is ended.').waitFor();
    expect((await appClient(server()).get('/1.1/users/me', { session: user.session })).body['code']).toBe(211);
  });
});

describe.runIf(isProvided(...SERVERS))('operators of services that fail', () => {
  let redis: TcpProxy;
  const sink = useSmtpSink();
  const server = useServer(async () => {
    const { redisUrl } = testRun();
    redis = await TcpProxy.to(new URL(redisUrl), 6379);
    return startServicesWithConsoles({ ...sink().env(), REDIS_URL: redis.urlFor(redisUrl) });
  }) as () => ServerWithConsole;
  const operator = useOperator(server);
  const restarted: Replica[] = [];

  afterAll(async () => {
    redis.bringBack();
    await Promise.all(restarted.map(({ process }) => process.stop()));
    await redis.close();
  });

  it('see that a process is gone, or has no Redis, and that it is back', async () => {
    const page = await operator().open('overview');
    const isAway = page.getByText('The service mail does not answer');
    await page.getByText('Messages sent in 24 hours').waitFor();
    process.kill(server().processes.find(({ service }) => service === 'mail')?.pid ?? 0, 'SIGKILL');
    await isAway.waitFor({ timeout: NOTICED_MS });
    // The other figures stay.
    expect(await page.getByText('Connected devices').count()).toBe(1);
    restarted.push(await startReplica({ app: 'mail', env: server().env }));
    await isAway.waitFor({ state: 'detached', timeout: NOTICED_MS });

    await page.goto(operator().urlOf('/health'));
    await page.getByText('All processes are ready').waitFor({ timeout: NOTICED_MS });
    redis.takeAway();
    await page.getByText('Something is not ready').waitFor({ timeout: NOTICED_MS });
    await page.reload();
    const finding = page.getByText(/^[a-z-]+ .*(?:is not ready: "redis|does not reach redis)/).first();
    await finding.waitFor({ timeout: NOTICED_MS });
    redis.bringBack();
    await page.getByText('All processes are ready').waitFor({ timeout: NOTICED_MS });
  }, 120_000);

  it('inspect a dead letter without its addresses, replay it, and drop it', async () => {
    const namespace = server().env['GATEPOST_NAMESPACE'] ?? '';
    const connection = await amqplib.connect(testRun().amqpUrl);
    const channel = await connection.createConfirmChannel();
    const poison = { appId: server().app.id, userId: 7, email: 'ada@example.com' };
    const properties = { messageId: randomUUID(), type: 'email.changed.v1', persistent: true };
    channel.sendToQueue(`${namespace}.events.mail`, Buffer.from(JSON.stringify(poison)), properties);
    await channel.waitForConfirms();
    await connection.close();

    const page = await operator().open('/health');
    const row = page.getByRole('table', { name: 'Dead letters' }).getByRole('row', { name: /^mail/ });
    const dead = () => row.getByRole('cell').first().textContent();
    await expect.poll(dead, { timeout: NOTICED_MS }).toBe('1');
    await row.getByRole('button', { name: 'Look' }).click();
    await page.getByText('a…@example.com').waitFor();
    expect(await page.getByText('ada@example.com').count()).toBe(0);
    await page.getByRole('button', { name: 'Hand over again' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Hand over again' }).click();
    await page.getByText('1 handed over again.').waitFor();
    await expect.poll(dead, { timeout: NOTICED_MS }).toBe('1');
    expect(await gatepost(server(), 'dead-letters', 'replay', 'mail')).toMatchObject({ status: 0 });
    await expect.poll(dead, { timeout: NOTICED_MS }).toBe('1');
    const { stdout } = await gatepost(server(), 'console', 'audit', '--action', 'replayDeadLetters');
    expect(stdout).toMatch(/ {2}cli {2}replayDeadLetters .*mail.* done\n/);
    await page.getByRole('button', { name: 'Drop all' }).click();
    await page.getByLabel('Type mail to confirm').fill('mail');
    await page.getByRole('dialog').getByRole('button', { name: 'Drop all' }).click();
    await page.getByText('1 dropped.').waitFor();
    await expect.poll(dead, { timeout: NOTICED_MS }).toBe('0');
  });
});
