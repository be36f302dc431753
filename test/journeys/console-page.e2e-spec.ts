import type { Locator, Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { appClient, masterClient, signUp, unique, useServer } from '#testing';
import { describeEdits } from './suites/console-edits.suite.js';
import { PASSWORD, type ServerWithConsole, startOneProcess, useOperator, useOperatorPages } from './suites/operator.js';
import { answer, comeBack, hold, isAsked, refused } from './suites/page-requests.js';

/** Longer than the page takes an answer for new, the session included. */
const STALE_MS = 61_000;
/** Until the page asks for a list again. */
const NEXT_READ_MS = 5_000;

const server = useServer(() => startOneProcess({})) as () => ServerWithConsole;
const operator = useOperator(server);
const { open, openWithClock, signedIn } = useOperatorPages(operator);

const dialogOf = (page: Page, name: string) => page.getByRole('dialog', { name });
const signIn = 'The session is over';
const proof = 'Confirm that it is you';

async function enterPassword(dialog: Locator): Promise<void> {
  await dialog.locator('input[type=password]').fill(PASSWORD);
  await dialog.getByRole('button', { name: 'Continue' }).click();
}

describeEdits(server, open);

describe('a session that ends', () => {
  it('while a proof is asked for: the sign-in comes first, then the proof, then the act', async () => {
    const { body } = await masterClient(server()).post('/1.1/installations', {
      deviceType: 'android',
      installationId: unique('device'),
    });
    const page = await signedIn();
    await page.clock.install();
    const device = `devices/${String(body['objectId'])}`;
    await page.goto(operator().urlOf(device));
    let asked = 0;
    await answer(page, isAsked('PATCH', /\/devices\//), () => {
      asked += 1;
      return asked === 1 ? refused(403, 'PROOF_REQUIRED') : undefined;
    });
    await page.getByLabel('Channels').fill('news');
    await page.getByRole('button', { name: 'Save' }).click();
    await dialogOf(page, proof).waitFor();

    // The page learns from /session first that it is over, and so without the operator.
    const read = await hold(page, isAsked('GET', /\/devices\//));
    await page.context().clearCookies();
    const session = page.waitForResponse(/\/api\/session$/);
    await page.clock.fastForward(STALE_MS);
    await comeBack(page);
    expect(await (await session).json()).toMatchObject({ operator: null });
    await (await read()).continue();
    await enterPassword(dialogOf(page, signIn));
    await dialogOf(page, signIn).waitFor({ state: 'detached' });
    await enterPassword(dialogOf(page, proof));
    await page.getByText('Saved.').waitFor();
    expect(asked).toBe(2);
  });

  it('only for a request that carries a token which a proof replaces: no sign-in is asked for', async () => {
    const page = await signedIn();
    await page.clock.install();
    await page.goto(operator().urlOf('devices'));
    let exports = 0;
    await page.route('**/devices/export*', async (route) => {
      exports += 1;
      // The request after the proof stays without an answer.
      if (exports % 2 === 1) await route.fulfill(refused(403, 'PROOF_REQUIRED'));
    });
    const list = isAsked('GET', /\/devices$/);
    const exportOnce = async () => {
      await page.getByRole('button', { name: 'Export', exact: true }).click();
      await page.getByRole('menuitem', { name: 'CSV' }).click();
    };
    const signIns = () => dialogOf(page, signIn).count();
    const isRead = () => page.waitForResponse((response) => list(response.request()) && response.ok());

    await exportOnce();
    const [stale, proving] = [await hold(page, list), await hold(page, isAsked('POST', /\/proof$/))];
    await page.clock.fastForward(NEXT_READ_MS);
    const held = await stale();
    await enterPassword(dialogOf(page, proof));
    const begun = await proving();
    let read = isRead();
    await held.fulfill(refused(401, 'UNAUTHORIZED'));
    await page.waitForTimeout(300);
    expect(await signIns()).toBe(0);
    await begun.continue();
    await read;
    await expect.poll(() => exports).toBe(2);
    expect(await signIns()).toBe(0);

    await page.getByRole('button', { name: 'Stop the export' }).click();
    await exportOnce();
    const nextHeld = await hold(page, list);
    await page.clock.fastForward(NEXT_READ_MS);
    const late = await nextHeld();
    await enterPassword(dialogOf(page, proof));
    await expect.poll(() => exports).toBe(4);
    read = isRead();
    await late.fulfill(refused(401, 'UNAUTHORIZED'));
    await read;
    expect(await signIns()).toBe(0);
  }, 60_000);

  it('and cannot be ended by the operator: the page says why', async () => {
    const page = await open('users');
    await answer(page, isAsked('POST', /\/sign-out$/), () => refused(503, 'SERVICE_UNAVAILABLE'));
    await page.getByRole('button', { name: /Ada Lovelace/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByText('This did not work').waitFor();
  });
});

describe('what another operator has changed', () => {
  const theirs = { '*': { read: true } };

  it.each(['user', 'role'])('is not undone by the access list of a %s that was read before', async (kind) => {
    const master = masterClient(server());
    const { id } = await signUp(appClient(server()));
    const role = { name: unique('role').replaceAll('-', '_'), ACL: { '*': { read: true, write: true } } };
    const roleId = String((await master.post('/1.1/roles', role)).body['objectId']);
    const [path, shown] =
      kind === 'user' ? [`users/${id}`, `users/${id}?tab=access`] : [`roles/${roleId}`, `roles/${roleId}`];
    const listOf = async () => (await master.get(`/1.1/${path}?returnACL=true`)).body['ACL'];
    const page = await openWithClock(shown);
    const add = async (subject: string) => {
      await page.getByLabel('User id or role').fill(subject);
      await page.getByRole('button', { name: 'Add', exact: true }).last().click();
    };
    const save = () => page.getByRole('button', { name: 'Save', exact: true }).click();
    const readAgain = async () => {
      const read = page.waitForResponse((response) => isAsked('GET', new RegExp(`/${path}$`))(response.request()));
      await page.clock.fastForward(STALE_MS);
      await comeBack(page);
      await read;
    };
    await add('someone');
    await master.put(`/1.1/${path}`, { ACL: theirs });
    await readAgain();
    const conflict = page.getByText('This has changed since you began to edit');
    await conflict.waitFor();
    expect(await page.getByRole('button', { name: 'Save', exact: true }).count()).toBe(0);
    await page.getByRole('button', { name: 'Take what is stored' }).click();
    await conflict.waitFor({ state: 'detached' });
    expect(await listOf()).toEqual(theirs);

    await add('someone');
    // A change of something else does not stand against the list.
    if (kind === 'role') await addUser(page, id);
    else await master.put(`/1.1/${path}`, { level: 3 });
    await readAgain();
    await save();
    await page.getByText('Saved.').last().waitFor();
    await expect.poll(listOf).toEqual({ ...theirs, someone: { read: true } });
  });

  it('is looked at after a conflict, and the page says where that fails', async () => {
    const { id } = await signUp(appClient(server()));
    const page = await open(`users/${id}`);
    await page.getByLabel('User name').fill(unique('mine'));
    await masterClient(server()).put(`/1.1/users/${id}`, { level: 3 });
    await answer(page, isAsked('GET', new RegExp(`/users/${id}$`)), () => refused(500, 'INTERNAL'));
    const form = page.locator('form').filter({ has: page.getByLabel('User name') });
    await form.getByRole('button', { name: 'Save', exact: true }).click();
    await form.getByText('This did not work').waitFor();
  });
});

describe('what is typed while a save is under way', () => {
  it('stays in the profile of a user and in a template, and is saved by the next save', async () => {
    const { id } = await signUp(appClient(server()));
    const page = await open(`users/${id}`);
    const saved = async (method: string, path: RegExp, field: Locator, texts: readonly [string, string]) => {
      const held = await hold(page, isAsked(method, path));
      const save = page.getByRole('button', { name: 'Save', exact: true });
      await field.fill(texts[0]);
      await save.click();
      const request = await held();
      await field.fill(texts[1]);
      await request.continue();
      await page.getByText('Saved.').last().waitFor();
      expect(await field.inputValue()).toBe(texts[1]);
      await expect.poll(() => save.isEnabled()).toBe(true);
      await save.click();
      await page.getByText('Saved.').nth(1).waitFor();
      await page.reload();
      await expect.poll(() => field.inputValue()).toBe(texts[1]);
    };
    const name = unique('typed');
    await saved('PATCH', /\/users\//, page.getByLabel('User name'), [name, `${name}-more`]);
    await page.goto(operator().urlOf('templates/verifyEmail/en'));
    await saved('PUT', /\/templates\//, page.getByLabel('Subject'), ['Welcome', 'Welcome, {{username}}']);
  });
});

describe('the filters of a list', () => {
  const rowsOf = (page: Page) => page.getByRole('table', { name: 'Users' }).getByRole('link');

  it('keep an address on the next pages, and their place where a field is left as it was', async () => {
    const page = await open('users');
    const search = page.getByLabel('Search', { exact: true });
    const texts: (string | null)[] = [];
    await answer(page, isAsked('GET', /\/users$/), (request) => {
      const { searchParams } = new URL(request.url());
      texts.push(searchParams.get('text'));
      const isSecond = searchParams.has('after');
      return { json: { items: [userNamed(isSecond ? 'second' : 'first')], next: isSecond ? null : 'place', total } };
    });
    await search.fill('ada@example.com');
    await expect.poll(() => texts.at(-1)).toBe('ada@example.com');
    await page.getByRole('link', { name: 'Next page' }).click();
    await expect.poll(() => rowsOf(page).allTextContents()).toEqual(['second']);
    expect([texts.at(-1), await search.inputValue()]).toEqual(['ada@example.com', 'ada@example.com']);
    await page.getByRole('link', { name: 'First page' }).click();
    await expect.poll(() => rowsOf(page).allTextContents()).toEqual(['first']);
    expect([texts.at(-1), await search.inputValue()]).toEqual(['ada@example.com', 'ada@example.com']);

    const leave = async (path: string, label: string) => {
      await page.goto(operator().urlOf(path));
      await page.getByLabel(label, { exact: true }).focus();
      await page.keyboard.press('Tab');
      await page.waitForTimeout(200);
      expect(page.url()).toContain('after=place');
    };
    await leave('users?platform=github&after=place', 'Platform');
    await leave('/audit?app=shop&after=place', 'Application');
  });

  it('of messages begin anew with another recipient', async () => {
    const page = await open('messages?after=place');
    await answer(page, isAsked('GET', /\/messages$/), () => ({ json: { items: [], next: null, counts: null } }));
    await page.reload();
    await page.getByLabel('Recipient').fill('ada@');
    await expect.poll(() => page.url()).not.toContain('after=');
    expect(await page.getByLabel('Recipient').inputValue()).toBe('ada@');
  });

  it('show the text of the URL whatever changes it, and lose nothing that is typed meanwhile', async () => {
    // Without digits: a text with five in a row stays out of the URL.
    const [one, other] = ['ruth-one', 'ruth-other'];
    for (const username of [one, other]) await signUp(appClient(server()), { username });
    const page = await open(`users?q=${one}&hasPassword=true`);
    const search = page.getByLabel('Search', { exact: true });
    const text = () => search.inputValue();
    const url = () => new URL(page.url()).searchParams.get('q');
    const menu = page.getByRole('navigation', { name: 'Pages' });
    await expect.poll(() => rowsOf(page).allTextContents()).toEqual([one]);
    await page.getByRole('link', { name: 'Clear the filters' }).click();
    await expect.poll(text).toBe('');
    await page.waitForTimeout(400);
    expect([await text(), url()]).toEqual(['', null]);
    await page.goBack();
    await expect.poll(text).toBe(one);

    await search.fill(other);
    await expect.poll(url).toBe(other);
    await menu.getByRole('link', { name: 'Users' }).click();
    await page.waitForTimeout(400);
    expect([await text(), url()]).toEqual(['', null]);
    // The field is left before the text is in the URL.
    await search.fill(one);
    await menu.getByRole('link', { name: 'Users' }).click();
    await page.waitForTimeout(400);
    expect([await text(), url()]).toEqual(['', null]);

    await search.pressSequentially(other, { delay: 20 });
    expect(await text()).toBe(other);
    await expect.poll(url).toBe(other);
    await search.press('End');
    for (const character of '-more') {
      await page.waitForTimeout(252);
      await search.press(character);
    }
    expect(await text()).toBe(`${other}-more`);
    await expect.poll(url).toBe(`${other}-more`);
  });

  it('show what is applied: after Back, after another link, and for a text that a link overtakes', async () => {
    const page = await open('users');
    for (const [path, label, text] of [
      ['users', 'Platform', 'github'],
      ['devices', 'Type', 'android'],
      ['roles', 'Search by name', 'admins'],
      ['/audit', 'Target', 'someone'],
      ['/audit', 'Application', 'shop'],
    ] as const) {
      await page.goto(operator().urlOf(path));
      const field = page.getByLabel(label, { exact: true });
      await field.fill(text);
      await field.press('Enter');
      await expect.poll(() => page.url()).toContain(`=${text}`);
      await page.goBack();
      await expect.poll(() => field.inputValue()).toBe('');
      expect(page.url()).not.toContain(text);
    }
    await page.goto(operator().urlOf('users?hasPassword=true&platform=github'));
    const platform = page.getByLabel('Platform');
    await platform.fill('wechat');
    await page.getByRole('link', { name: 'Clear the filters' }).first().click();
    await expect.poll(() => platform.inputValue()).toBe('');
    await platform.fill('wechat');
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Users' }).click();
    await expect.poll(() => platform.inputValue()).toBe('');
    expect(new URL(page.url()).search).toBe('');
  });

  it('apply a date once, from the beginning of its day in the zone of the operator', async () => {
    const page = await open('devices');
    const session = await page.evaluate<{ operator: object }>("fetch('/api/session').then((answer) => answer.json())");
    const json = { ...session, operator: { ...session.operator, timeZone: 'Asia/Shanghai' } };
    await answer(page, isAsked('GET', /\/session$/), () => ({ json }));
    const asked: (string | null)[] = [];
    await answer(page, isAsked('GET', /\/users$/), (request) => {
      asked.push(new URL(request.url()).searchParams.get('createdFrom'));
      return undefined;
    });
    await page.goto(operator().urlOf('users?since=x'));
    await expect.poll(() => asked).toEqual([null]);
    const since = page.getByLabel('Signed up since');
    const entries = () => page.evaluate<number>('history.length');
    const before = await entries();
    await since.pressSequentially('03032026');
    await since.press('Enter');
    await expect.poll(() => page.url()).toContain('since=2026-03-03');
    expect(await entries()).toBe(before + 1);
    await expect.poll(() => asked.at(-1)).toBe('2026-03-02T16:00:00.000Z');
    await page.goBack();
    await expect.poll(() => since.inputValue()).toBe('');
  });

  it('schedule a push in the zone of the operator, not in that of the browser', async () => {
    const page = await open('devices');
    const session = await page.evaluate<{ operator: object }>("fetch('/api/session').then((answer) => answer.json())");
    const json = { ...session, operator: { ...session.operator, timeZone: 'America/New_York' } };
    await answer(page, isAsked('GET', /\/session$/), () => ({ json }));
    await page.goto(operator().urlOf('pushes/new'));
    await page.getByLabel('Text').fill('Autumn sale');
    await page.getByRole('radio', { name: 'Later' }).check();
    const time = page.getByLabel('Time (America/New_York)');
    const year = new Date().getUTCFullYear() + 1;
    await time.fill(`${year}-11-27T09:00`);
    await page.getByText(`--at ${year}-11-27T14:00:00.000Z`).waitFor();
    await time.fill(`${year}-07-01T00:30`);
    await page.getByText(`--at ${year}-07-01T04:30:00.000Z`).waitFor();
  });

  it('focus the search of users by a key with Ctrl, and by no single one', async () => {
    const page = await open('users');
    const field = page.getByRole('searchbox', { name: 'Search' });
    const isFocused = () => field.and(page.locator(':focus')).isVisible();
    await page.getByRole('heading', { level: 1 }).click();
    await page.keyboard.press('/');
    expect(await isFocused()).toBe(false);
    await page.keyboard.press('Control+/');
    await expect.poll(isFocused).toBe(true);
  });

  it('show the former and the new value of a change in the audit log, also by a link to its entry', async () => {
    const page = await open('settings');
    await page.getByLabel('mailLanguage').fill('nl');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Saved.').waitFor();
    await page.goto(operator().urlOf('/audit?action=changeSetting'));
    await page.getByRole('button', { name: 'Setting changed' }).first().click();
    const value = page.getByRole('row', { name: /^value .* nl$/ });
    await value.waitFor();
    await page.getByRole('link', { name: 'Link to this entry' }).click();
    await expect.poll(() => page.url()).toContain('open=');
    await page.reload();
    await value.waitFor();
  });

  it('select entries of the audit log by operator and by days', async () => {
    const page = await operator().openElsewhere('/audit', { timezoneId: 'UTC' });
    const asked = (operatorId: string | null, from: string | null, to: string | null) =>
      page.waitForRequest((request) => {
        const { pathname, searchParams: given } = new URL(request.url());
        const isSame = given.get('operatorId') === operatorId && given.get('from') === from && given.get('to') === to;
        return pathname.endsWith('/audit') && isSame;
      });
    const choice = page.getByRole('combobox', { name: 'Operator' });
    const id = (await choice.locator('option').nth(1).getAttribute('value')) ?? '';
    const byOperator = asked(id, null, null);
    await choice.selectOption(id);
    await byOperator;
    await page.goto(operator().urlOf('/audit?since=2026-03-03'));
    const byDays = asked(null, '2026-03-03T00:00:00.000Z', '2026-03-05T00:00:00.000Z');
    await page.getByLabel('Until').fill('2026-03-04');
    await page.getByLabel('Until').press('Enter');
    await byDays;
    await page.getByText('Nothing matches the filters').waitFor();
  });

  it('select users by verified numbers and days, and messages by kind and days', async () => {
    const page = await operator().openElsewhere('users?since=2026-03-03', { timezoneId: 'UTC' });
    const asked = (path: string, expected: object) =>
      page.waitForRequest((request) => {
        const { pathname, searchParams } = new URL(request.url());
        const given = Object.fromEntries(searchParams) as Record<string, string>;
        return pathname.endsWith(path) && Object.entries(expected).every(([name, value]) => given[name] === value);
      });
    const days = { from: '2026-03-03T00:00:00.000Z', to: '2026-03-05T00:00:00.000Z' };
    const fill = async (label: string) => {
      await page.getByLabel(label).fill('2026-03-04');
      await page.getByLabel(label).press('Enter');
    };
    const users = asked('/users', { phoneVerified: 'true', createdFrom: days.from, createdTo: days.to });
    await page.getByLabel('Phone verified').selectOption('yes');
    await fill('Signed up until');
    await users;
    await page.getByRole('link', { name: 'Clear the filters' }).first().click();
    await expect.poll(() => page.getByLabel('Signed up until').inputValue()).toBe('');
    await page.goto(operator().urlOf('messages?since=2026-03-03'));
    const messages = asked('/messages', { kind: 'login', ...days });
    await page.getByLabel('Kind').selectOption('Code for a login');
    await fill('Until');
    await messages;
  });

  it('name the acts of the audit log as the list does', async () => {
    const page = await open('/audit?action=setUp');
    const action = page.getByRole('combobox', { name: 'Action' });
    await action.selectOption({ label: 'Sign-in' });
    await expect.poll(() => page.url()).toContain('action=signIn');
    await page.goBack();
    await expect.poll(() => action.locator('option:checked').textContent()).toBe('Console set up');
    await page.getByRole('button', { name: 'Console set up' }).waitFor();
    await action.locator('option', { hasText: 'Passkey added' }).waitFor({ state: 'attached' });
  });
});

describe('secrets', () => {
  it('of a recovery link go when another link fails, and name their operator', async () => {
    const page = await open('/operators');
    const invite = async (name: string) => {
      await page.getByRole('button', { name: 'Invite an operator' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Name').fill(name);
      await dialog.getByLabel('E-mail address').fill(`${unique('operator')}@example.com`);
      await dialog.getByRole('button', { name: 'Invite an operator' }).click();
      await page.getByText(`Hand this link over to ${name}`).waitFor();
    };
    const renew = async (name: string) => {
      await page.getByRole('button', { name: `Actions for ${name}` }).click();
      // The menu of the operator before may still fade out.
      const menu = page.getByRole('menu', { name: `Actions for ${name}` });
      await menu.getByRole('menuitem', { name: 'New invitation link' }).click();
    };
    await invite('Bo');
    await invite('Cy');
    await renew('Bo');
    await page.getByText('Hand this link over to Bo').waitFor();
    await answer(page, isAsked('POST', /\/operators\//), () => refused(503, 'SERVICE_UNAVAILABLE'));
    await renew('Cy');
    await page.getByText('This did not work').waitFor();
    expect(await page.locator('[data-link]').count()).toBe(0);
  });

  it('of a platform and of a text-message provider change within the stored kind', async () => {
    const kinds = ['first', 'second'].map((kind) => ({ kind, fields: [] }));
    const stored = { kind: 'second', shown: {}, secrets: [] };
    const page = await open('users');
    await answer(page, isAsked('GET', /\/platforms$/), () => ({
      json: { items: [{ ...stored, platform: 'ours' }], accounts: [], kinds },
    }));
    await answer(page, isAsked('GET', /\/text-message-provider$/), () => ({ json: { provider: stored, kinds } }));
    for (const tab of ['platforms', 'texts']) {
      await page.goto(operator().urlOf(`settings?tab=${tab}`));
      await page.getByRole('button', { name: 'Change' }).click();
      await expect.poll(() => page.getByRole('dialog').getByLabel('Kind', { exact: true }).inputValue()).toBe('second');
    }
  });
});

const total = { value: 2, isExact: true };
const userNamed = (username: string) => ({
  objectId: username,
  username,
  email: null,
  emailVerified: null,
  mobilePhoneNumber: null,
  mobilePhoneVerified: false,
  hasPassword: true,
  platforms: [],
  createdAt: '2026-01-01T00:00:00.000Z',
  updatedAt: '2026-01-01T00:00:00.000Z',
  lockedUntil: null,
});

async function addUser(page: Page, id: string): Promise<void> {
  await page.getByLabel('User name or id', { exact: true }).fill(id);
  await page.getByRole('button', { name: 'Add', exact: true }).first().click();
  await page.getByRole('table', { name: 'Users of the role' }).waitFor();
}
