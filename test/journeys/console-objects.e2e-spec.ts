import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { appClient, gatepost, masterClient, setSetting, signUp, unique, useServer } from '#testing';
import { OWNER, type ServerWithConsole, startOneProcess, useOperator, useOperatorPages } from './suites/operator.js';
import { answer, isAsked } from './suites/page-requests.js';

const server = useServer(() => startOneProcess({})) as () => ServerWithConsole;
const operator = useOperator(server);
const { open, openWithClock } = useOperatorPages(operator);

const button = (page: Page, name: RegExp | string) => page.getByRole('button', { name, exact: true });
const UNKNOWN = 'fedcba9876543210fedcba98';

async function newDevice(fields: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const device = { deviceType: 'android', installationId: unique('device'), ...fields };
  return String((await appClient(server()).post('/1.1/installations', device)).body['objectId']);
}

describe('the page of an object that does not exist', () => {
  it.each([
    ['devices', UNKNOWN, 'All devices'],
    ['devices', 'no%20id', 'All devices'],
    ['roles', UNKNOWN, 'All roles'],
    ['users', UNKNOWN, 'All users'],
    ['pushes', UNKNOWN, 'All pushes'],
    ['messages', '11111111-1111-4111-8111-111111111111', 'All messages'],
  ])('of %s with the id %s says so, offers no act, and leads back', async (kind, id, back) => {
    const page = await open(`${kind}/${id}`);
    await page.getByText('This object does not exist').waitFor();
    const acts = page.getByRole('main').getByRole('button', { name: /Delete|test device|Send again|Stop/ });
    expect(await acts.count()).toBe(0);
    expect(await page.getByRole('alert').count()).toBe(0);
    await page.getByRole('link', { name: back }).click();
    await page.waitForURL(`**/${kind}`);
  });

  it('shows what was done with a device that was deleted meanwhile, in place of its acts', async () => {
    const id = await newDevice();
    const page = await open(`devices/${id}`);
    await button(page, 'Delete the device').click();
    await masterClient(server()).delete(`/1.1/installations/${id}`);
    await page.getByText('This object does not exist').waitFor({ timeout: 15_000 });
    expect(await button(page, 'Delete the device').count()).toBe(0);
    await page.getByRole('heading', { name: 'History' }).waitFor();
  });

  it('of an unknown application has no menu of acts', async () => {
    const page = await open('/apps/no-such-app/users');
    await page.getByText('There is no such page').waitFor();
    expect(await button(page, 'New user').count()).toBe(0);
    await page.getByRole('link', { name: 'Go to the overview' }).click();
    await page.waitForURL('**/overview');
  });
});

describe('a push to many devices', () => {
  it('is confirmed by the number that was shown, and says so where the devices are more meanwhile', async () => {
    const page = await openWithClock('pushes/new');
    let total = 1_200;
    await answer(page, isAsked('POST', /\/pushes\/count$/), () => ({
      json: { total, isExact: true, platforms: {}, unreachable: 0, leftOut: null, sample: [] },
    }));
    const sent: unknown[] = [];
    await answer(page, isAsked('POST', /\/pushes$/), (request) => {
      sent.push(request.postDataJSON());
      return { json: { objectId: UNKNOWN, createdAt: new Date().toISOString() } };
    });
    await page.getByLabel('Text').fill('Autumn sale');
    await page.clock.fastForward(1_000);
    await button(page, 'Send to 1,200 devices').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Type 1200 to confirm').fill('1200');
    total = 1_300;
    await page.clock.fastForward(16_000);
    await dialog.getByText('The audience is now 1,300 devices.').waitFor();
    await dialog.getByText('to 1,200 devices').waitFor();
    await dialog.getByLabel('Type 1200 to confirm').waitFor();
    await dialog.getByRole('button', { name: 'Send the push' }).click();
    await page.waitForURL(`**/pushes/${UNKNOWN}`);
    expect(sent).toMatchObject([{ body: { data: { alert: 'Autumn sale' } } }]);
  });
});

describe('hidden characters', () => {
  it('stand as escapes in the name of an invited operator, of an application, and of a view', async () => {
    const escaped = (text: string) => text.replace('\u202E', String.raw`\u202e`).replace('\u200B', String.raw`\u200b`);
    const [name, app, view] = ['Bo\u202Eev\u200B', 'Shop\u202Eev\u200B', 'View\u202Eev\u200B'];
    const id = unique('hidden');
    await gatepost(server(), 'apps', 'create', app, '--id', id);
    const page = await open(`/apps/${id}/users?hasPassword=true`);
    await button(page, `Applications, now ${escaped(app)}`).waitFor();
    await button(page, 'Views').click();
    await page.getByRole('menuitem', { name: 'Save these filters…' }).click();
    await page.getByRole('dialog').getByRole('textbox').fill(view);
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: escaped(view) }).waitFor();

    await page.goto(operator().urlOf('/operators'));
    await button(page, 'Invite an operator').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name', { exact: true }).fill(name);
    await dialog.getByLabel('E-mail address').fill(`${unique('operator')}@example.com`);
    await dialog.getByLabel(escaped(app)).selectOption('support');
    await dialog.getByRole('button', { name: 'Invite an operator' }).click();
    await page.getByText(`Hand this link over to ${escaped(name)}`).waitFor();
    const row = page.getByRole('row').filter({ hasText: `support: ${id}` });
    await row.getByRole('rowheader', { name: escaped(name), exact: true }).waitFor();
    await row.getByRole('button', { name: `Actions for ${escaped(name)}` }).waitFor();
  });

  it('stand as escapes in names, in the JSON of a device and of a push, and in what a delete wants typed', async () => {
    const name = `${unique('ada')}\u202Egnp\u200B`;
    const shown = name.replace('\u202E', String.raw`\u202e`).replace('\u200B', String.raw`\u200b`);
    const { id } = await signUp(appClient(server()), { username: name });
    const page = await open(`users?q=${encodeURIComponent(name)}`);
    await page.getByRole('link', { name: shown }).click();
    await page.getByRole('heading', { level: 1, name: shown }).waitFor();
    await button(page, 'Delete').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel(`Type ${shown} to confirm`).fill(shown);
    await dialog.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText('The user is deleted.').waitFor();
    expect((await masterClient(server()).get(`/1.1/users/${id}`)).status).toBe(400);

    const device = await newDevice({ note: 'a\u202Eb' });
    await page.goto(operator().urlOf(`devices/${device}`));
    await page.locator('pre', { hasText: String.raw`a\u202eb` }).waitFor();
    const push = { data: { alert: 'free\u200B gift\u202E' }, where: { objectId: device } };
    const sent = await masterClient(server()).post('/1.1/push', push);
    await page.goto(operator().urlOf(`pushes/${String(sent.body['objectId'])}`));
    await page.locator('pre', { hasText: String.raw`free\u200b gift\u202e` }).waitFor();
    await page.getByRole('heading', { level: 1, name: String.raw`free\u200b gift\u202e` }).waitFor();
    await page.goto(operator().urlOf('pushes'));
    await page.getByRole('link', { name: String.raw`free\u200b gift\u202e` }).waitFor();

    const field = page.getByLabel('Name', { exact: true });
    await page.goto(operator().urlOf('/profile'));
    for (const given of ['Ada\u200B', OWNER.name]) {
      await field.fill(given);
      await button(page, 'Save').click();
      await page.getByText('Saved.').last().waitFor();
      await page.goto(operator().urlOf('/audit'));
      const option = page
        .getByLabel('Operator')
        .locator('option', { hasText: given.replace('\u200B', String.raw`\u200b`) });
      await option.waitFor({ state: 'attached' });
      await page.goto(operator().urlOf('/profile'));
    }
  });
});

it('a push to single devices counts those with these ids, and the palette opens an object by its id', async () => {
  const installationId = unique('device');
  const ids = [await newDevice(), await newDevice({ installationId })];
  const page = await open('pushes/new');
  await page.getByLabel('Text').fill('hello');
  await page.getByRole('radio', { name: 'Single devices' }).check();
  await page.getByRole('textbox', { name: 'Devices' }).fill(`${ids[0]}\n${installationId}, no-such-device`);
  await button(page, 'Send to 2 devices').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Send the push' }).click();
  await page.waitForURL(/\/pushes\/(?!new)[\w-]+$/);
  await expect.poll(() => page.locator('[data-part="targeted"]').textContent()).toBe('2');
  // One line: two have more than 40 pixels.
  expect((await page.getByText('100%', { exact: true }).first().boundingBox())?.height).toBeLessThan(30);
  const pushId = page.url().split('/').at(-1) ?? '';

  const role = { name: unique('role').replaceAll('-', '_'), ACL: { '*': { read: true } } };
  const roleId = String((await masterClient(server()).post('/1.1/roles', role)).body['objectId']);
  for (const path of [`devices/${ids[0]}`, `roles/${roleId}`, `pushes/${pushId}`]) {
    await button(page, /^Search/).click();
    const palette = page.getByRole('dialog', { name: 'Search or jump to' });
    const id = path.split('/')[1] ?? '';
    await palette.getByLabel('Search').fill(id);
    await palette.locator('[data-selected]', { hasText: id }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/${path}`);
  }
});

describe('Undo in History', () => {
  const CHANGED_SINCE = 'The object has changed since, so nothing was written.';
  const saved = async (page: Page) => {
    await button(page, 'Save').click();
    await page.getByText('Saved.').waitFor();
  };
  const log = (page: Page) => page.getByRole('table', { name: 'Audit log' });
  /** Undoes an act in the log of the page. The newest is the first. */
  const undo = async (page: Page, act: string, index = 0) => {
    await log(page).getByRole('button', { name: act }).nth(index).click();
    await log(page).getByRole('button', { name: 'Undo' }).click();
  };
  const isBack = (page: Page) => page.getByText('The former value is back.').waitFor();

  it('brings an address back as verified, which is an act of its own', async () => {
    const master = masterClient(server());
    const contact = { email: `${unique('ada')}@example.com` };
    const { id } = await signUp(appClient(server()), contact);
    await master.put(`/1.1/users/${id}`, { emailVerified: true });
    const page = await open(`users/${id}`);
    const email = page.getByLabel('E-mail', { exact: true });
    await email.fill(`${unique('other')}@example.com`);
    await saved(page);
    // A change of another field does not prevent the undo.
    await master.put(`/1.1/users/${id}`, { level: 5 });
    await page.getByRole('tab', { name: 'History' }).click();
    await undo(page, 'User changed');
    await isBack(page);
    expect((await master.get(`/1.1/users/${id}`)).body).toMatchObject({ ...contact, emailVerified: true, level: 5 });
    const acts = log(page).getByRole('button', { name: 'User changed' });
    await expect.poll(() => acts.count()).toBe(2);
    await page.reload();
    await undo(page, 'User changed');
    await isBack(page);
    expect((await master.get(`/1.1/users/${id}`)).body['email']).not.toBe(contact.email);
  });

  it('brings the access list of a user back', async () => {
    const master = masterClient(server());
    const { id } = await signUp(appClient(server()), { ACL: { '*': { read: true } } });
    const page = await open(`users/${id}`);
    await page.getByRole('tab', { name: 'Access' }).click();
    await page.getByLabel('User id or role').fill('role:staff');
    await button(page, 'Add').click();
    await saved(page);
    await page.getByRole('tab', { name: 'History' }).click();
    await undo(page, 'User changed');
    await isBack(page);
    await log(page).locator('button[aria-expanded=true]:focus', { hasText: 'User changed' }).waitFor();
    const { body } = await master.get(`/1.1/users/${id}?returnACL=true`);
    expect(body['ACL']).toEqual({ '*': { read: true } });
  });

  it('writes no field of a user, and no access list, over what another has written since', async () => {
    const master = masterClient(server());
    const { id } = await signUp(appClient(server()), { level: 1 });
    const page = await open(`users/${id}`);
    await page.getByLabel('Own fields').fill('{"level": 2}');
    await saved(page);
    await page.getByRole('tab', { name: 'Access' }).click();
    await page.getByLabel('User id or role').fill('*');
    await button(page, 'Add').click();
    await saved(page);
    const theirs = { level: 3, ACL: { [id]: { read: true } } };
    await master.put(`/1.1/users/${id}`, theirs);
    await page.getByRole('tab', { name: 'History' }).click();
    for (const refused of [1, 2]) {
      // The refused act is above the first one.
      await undo(page, 'User changed', 2 * refused - 2);
      await page
        .getByText(CHANGED_SINCE)
        .nth(refused - 1)
        .waitFor();
      await expect.poll(() => log(page).getByRole('button', { name: 'User changed' }).count()).toBe(2 + refused);
    }
    expect((await master.get(`/1.1/users/${id}?returnACL=true`)).body).toMatchObject(theirs);
  });

  it('takes a new member out of a role, once', async () => {
    const { id } = await signUp(appClient(server()));
    const role = { name: unique('role').replaceAll('-', '_'), ACL: {} };
    const roleId = String((await masterClient(server()).post('/1.1/roles', role)).body['objectId']);
    const page = await open(`roles/${roleId}`);
    await page.getByLabel('User name or id', { exact: true }).fill(id);
    await button(page, 'Add').first().click();
    const members = page.getByRole('table', { name: 'Users of the role' }).getByRole('rowheader');
    await expect.poll(() => members.count()).toBe(1);
    await undo(page, 'Role changed');
    await isBack(page);
    await expect.poll(() => members.count()).toBe(0);
    await page.reload();
    await log(page).getByRole('button', { name: 'Role changed' }).nth(1).click();
    await page.getByText('This act was undone later.').waitFor();
    expect(await log(page).getByRole('button', { name: 'Undo' }).count()).toBe(0);
  });

  it('of the first own template brings the built-in one back, and of that one the own', async () => {
    const page = await open('templates/resetPassword/en');
    await page.getByRole('textbox', { name: 'Subject' }).fill('A subject of our own');
    await saved(page);
    await undo(page, 'Template changed');
    await isBack(page);
    await page.getByText('built in', { exact: true }).first().waitFor();
    await page.reload();
    await undo(page, 'Template reset');
    await isBack(page);
    await expect.poll(() => page.getByRole('textbox', { name: 'Subject' }).inputValue()).toBe('A subject of our own');
  });

  it('of a setting and of a class permission stands in the audit log, and comes too late after another change', async () => {
    const page = await open('settings');
    const field = page.getByLabel('mailLanguage');
    const stored = await field.inputValue();
    await field.fill('de');
    await saved(page);
    await page.goto(operator().urlOf('/audit?action=changeSetting'));
    await undo(page, 'Setting changed');
    await isBack(page);
    await page.goto(operator().urlOf('settings'));
    await expect.poll(() => field.inputValue()).toBe(stored);
    await setSetting(server(), server().app, 'mailLanguage', 'it');
    await page.goto(operator().urlOf('/audit?action=changeSetting'));
    // The act of the command line is above the undo.
    await undo(page, 'Setting changed', 1);
    await page.getByText(CHANGED_SINCE).waitFor();
    await setSetting(server(), server().app, 'mailLanguage', stored);

    await page.goto(operator().urlOf('permissions'));
    await button(page, 'Change _Role: Read one').click();
    await page.getByRole('dialog').getByLabel('Who may').selectOption('only the master key');
    await saved(page);
    await page.goto(operator().urlOf('/audit?action=changeClassPermission'));
    await undo(page, 'Class permission changed');
    await isBack(page);
  });
});

/** In the browser, with its session. */
const saveOldView = (appId: string) =>
  fetch(`/api/apps/${appId}/views`, {
    method: 'PUT',
    headers: { 'Content-Type': 'application/json', 'X-Gatepost-Console': '1' },
    body: JSON.stringify({ page: 'pushes', name: 'Old', search: { status: 'former' }, isShared: false }),
  }).then(({ status }) => status);

describe('the filters of a list', () => {
  const views = (page: Page, shown?: string) =>
    page
      .getByRole('main')
      .getByRole('button', { name: shown === undefined ? 'Views' : `Views: ${shown}`, exact: true });
  const item = (page: Page, name: string) => page.getByRole('menuitem', { name, exact: true });
  const save = async (page: Page) => {
    await item(page, 'Save these filters…').click();
    return page.getByRole('dialog');
  };

  it('are saved as a view, opened by it, replaced, and deleted', async () => {
    const page = await open('users');
    await page.getByLabel('E-mail verified').selectOption('false');
    await page.waitForURL('**/users?emailVerified=false');
    await views(page).click();
    const dialog = await save(page);
    await dialog.getByLabel('Name').fill('Not verified');
    await dialog.getByLabel('Share with all operators of the application').check();
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await views(page, 'Not verified').waitFor();

    await page.goto(operator().urlOf('users'));
    await views(page).click();
    await item(page, 'Not verified (shared)').click();
    await page.waitForURL('**/users?emailVerified=false');
    await page.getByLabel('Has a password').selectOption('true');
    await page.waitForURL('**/users?emailVerified=false&hasPassword=true');
    await views(page).click();
    await save(page);
    expect(await dialog.getByLabel('Name').inputValue()).toBe('Not verified');
    expect(await dialog.getByLabel('Share with').isChecked()).toBe(true);
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await views(page, 'Not verified').waitFor();

    await page.goto(operator().urlOf('devices'));
    await views(page).click();
    expect(await page.getByRole('menuitem').allTextContents()).toEqual(['Save these filters…']);

    await page.goto(operator().urlOf('users?emailVerified=false&hasPassword=true'));
    await views(page, 'Not verified').click();
    await item(page, 'Delete “Not verified”').click();
    await dialog.getByText('deleted for all operators').waitFor();
    await dialog.getByRole('button', { name: 'Delete', exact: true }).click();
    await views(page).waitFor();
    expect(page.url()).toContain('emailVerified=false');
  });

  it('of a version with other filters can be deleted once the view is opened', async () => {
    const page = await open('pushes?status=done');
    await page.evaluate(saveOldView, server().app.id);
    await page.reload();
    await views(page).click();
    await item(page, 'Old').click();
    await page.waitForURL(/pushes(?!.*done)/);
    await views(page).click();
    await item(page, 'Delete “Old”').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await views(page).click();
    expect(await page.getByRole('menuitem').allTextContents()).toEqual(['Save these filters…']);
  });

  it('are not saved with a search for an address, in the history of the tab or in the URL', async () => {
    for (const given of ['users', `users?q=${encodeURIComponent('ada@example.com')}`]) {
      const page = await open(given);
      await page.getByRole('searchbox').fill('ada@example.com');
      await page.keyboard.press('Enter');
      await views(page).click();
      await item(page, 'Save these filters…').click();
      await page.getByText('A search for an address or a number is not saved.').waitFor();
      expect(await page.getByRole('dialog').count()).toBe(0);
    }
  });

  it('have a long name without a second scroll bar of a phone', async () => {
    const page = await open('pushes?status=done');
    await page.setViewportSize({ width: 320, height: 640 });
    await views(page).click();
    const dialog = await save(page);
    await dialog.getByLabel('Name').fill('W'.repeat(60));
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await views(page, 'W'.repeat(60)).click();
    await item(page, 'W'.repeat(60)).waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320);
  });
});
