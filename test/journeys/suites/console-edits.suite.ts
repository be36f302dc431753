import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { appClient, type GatepostServer, masterClient, setSetting, signUp, unique, uniquePhone } from '#testing';
import { answer, isAsked, refused } from './page-requests.js';

type Open = (path: string) => Promise<Page>;

const CHANGED_SINCE = 'The object has changed since, so nothing was written.';
const keepMine = (page: Page) => page.getByRole('button', { name: 'Save what I typed' });
const save = (page: Page) => page.getByRole('button', { name: 'Save', exact: true }).click();

async function undo(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Undo' }).last().click();
  await page.getByText('The former value is back.').last().waitFor();
}

/** Edits of operators: their save, their undo, and typed text meanwhile. */
export function describeEdits(server: () => GatepostServer, open: Open): void {
  describe('Undo', () => {
    it('brings an address and a number back as verified as they were', async () => {
      const master = masterClient(server());
      const contact = { email: `${unique('ada')}@example.com`, mobilePhoneNumber: uniquePhone() };
      const { id } = await signUp(appClient(server()), contact);
      const verified = { emailVerified: true, mobilePhoneVerified: true };
      await master.put(`/1.1/users/${id}`, verified);
      const page = await open(`users/${id}`);
      await page.getByLabel('E-mail', { exact: true }).fill(`${unique('other')}@example.com`);
      await page.getByLabel('Phone', { exact: true }).fill(uniquePhone());
      await save(page);
      await page.getByText('Saved.').waitFor();
      await undo(page);
      expect((await master.get(`/1.1/users/${id}`)).body).toMatchObject({ ...contact, ...verified });
    });

    it('of the roles of an operator brings nothing back that another owner has changed since', async () => {
      const name = unique('operator');
      const page = await open('/operators');
      await page.getByRole('button', { name: 'Invite an operator' }).click();
      const invitation = page.getByRole('dialog');
      await invitation.getByLabel('Name').fill(name);
      await invitation.getByLabel('E-mail address').fill(`${name}@example.com`);
      await invitation.getByLabel('All applications').selectOption('viewer');
      await invitation.getByRole('button', { name: 'Invite an operator' }).click();
      const edit = async (at: Page) => {
        await at.getByRole('button', { name: `Actions for ${name}` }).click();
        await at.getByRole('menuitem', { name: 'Change roles' }).click();
      };
      const choose = (at: Page, role: string) =>
        at.getByRole('dialog').getByLabel('All applications').selectOption(role);
      await edit(page);
      const other = await open('/operators');
      await edit(other);
      await choose(other, '');
      await save(other);
      await other.getByText('Saved.').waitFor();

      await choose(page, 'support');
      await save(page);
      const dialog = page.getByRole('dialog');
      await dialog.getByText(CHANGED_SINCE).waitFor();
      await undo(other);
      await dialog.getByRole('button', { name: 'Cancel' }).click();
      const row = page.getByRole('row').filter({ hasText: name });
      await page.reload();
      await row.getByText('viewer: All applications').waitFor();
    });

    it('of a setting, and a save, write nothing over the value of another operator', async () => {
      const page = await open('settings');
      const other = await open('settings');
      const field = (at: Page) => at.getByLabel('mailLanguage');
      const stored = await field(page).inputValue();
      await field(other).waitFor();
      await field(page).fill('de');
      await save(page);
      await page.getByText('Saved.').waitFor();
      await field(other).fill('it');
      await save(other);
      await other.getByText(CHANGED_SINCE).first().waitFor();
      await other.getByText('Stored now: de').waitFor();
      await keepMine(other).click();
      await other.getByText('Saved.').waitFor();
      await page.getByRole('button', { name: 'Undo' }).click();
      await page.getByText(CHANGED_SINCE).first().waitFor();
      await undo(other);
      await other.reload();
      await expect.poll(() => field(other).inputValue()).toBe('de');
      await setSetting(server(), server().app, 'mailLanguage', stored);
    });

    it('of a class permission, and a save, write nothing over that of another operator', async () => {
      const page = await open('permissions');
      const other = await open('permissions');
      const choose = async (at: Page, who: string) => {
        await at.getByRole('dialog').getByLabel('Who may').selectOption(who);
        await save(at);
      };
      const edit = (at: Page) => at.getByRole('button', { name: 'Change _Role: Read one' }).click();
      await edit(page);
      await edit(other);
      await choose(page, 'only the master key');
      await page.getByText('Saved.').waitFor();
      await choose(other, 'users who are logged in');
      await other.getByText(CHANGED_SINCE).first().waitFor();
      await undo(page);
    });

    it('of a template, and a save, write nothing over the text of another operator', async () => {
      const page = await open('templates/verifyEmail/en');
      const other = await open('templates/verifyEmail/en');
      const store = async (at: Page, subject: string) => {
        await at.getByRole('textbox', { name: 'Subject' }).fill(subject);
        await save(at);
      };
      await other.getByRole('textbox', { name: 'Subject' }).waitFor();
      await store(page, 'mine');
      await page.getByText('Saved.').waitFor();
      await store(other, 'theirs');
      await other.getByText(CHANGED_SINCE).first().waitFor();
      await other.getByText('Stored now: Subject').waitFor();
      await keepMine(other).click();
      await other.getByText('Saved.').waitFor();
      await page.getByRole('button', { name: 'Undo' }).click();
      await page.getByText(CHANGED_SINCE).first().waitFor();
      await undo(other);
    });

    it('of a new member removes none that was a member before', async () => {
      const { id, username } = await signUp(appClient(server()));
      const users = { __op: 'AddRelation', objects: [{ __type: 'Pointer', className: '_User', objectId: id }] };
      const role = { name: unique('role').replaceAll('-', '_'), ACL: {}, users };
      const roleId = String((await masterClient(server()).post('/1.1/roles', role)).body['objectId']);
      const page = await open(`roles/${roleId}`);
      const field = page.getByLabel('User name or id', { exact: true });
      const add = page.getByRole('button', { name: 'Add', exact: true }).first();
      const undos = page.getByRole('button', { name: 'Undo' });
      await field.fill(username);
      await add.click();
      await page.getByText('Saved.').waitFor();
      expect([await undos.count(), await field.inputValue()]).toEqual([0, '']);

      const { id: newId } = await signUp(appClient(server()));
      let isRefused = true;
      await answer(page, isAsked('PATCH', /\/roles\//), () =>
        isRefused ? refused(503, 'SERVICE_UNAVAILABLE') : undefined,
      );
      await field.fill(newId);
      await add.click();
      await page.getByText('This did not work').waitFor();
      expect(await field.inputValue()).toBe(newId);
      isRefused = false;
      await add.click();
      await undo(page);
      const members = page.getByRole('table', { name: 'Users of the role' }).getByRole('rowheader');
      // The page reads the role again after the notice.
      await expect.poll(() => members.count()).toBe(1);
    });

    it('takes the user with an id for the member, not another one with that id as name', async () => {
      const role = { name: unique('role').replaceAll('-', '_'), ACL: {} };
      const roleId = String((await masterClient(server()).post('/1.1/roles', role)).body['objectId']);
      const meant = await signUp(appClient(server()));
      await signUp(appClient(server()), { username: meant.id });
      const page = await open(`roles/${roleId}`);
      await page.getByLabel('User name or id', { exact: true }).fill(meant.id);
      await page.getByRole('button', { name: 'Add', exact: true }).first().click();
      await page.getByText('Saved.').waitFor();
      const members = page.getByRole('table', { name: 'Users of the role' }).getByRole('rowheader');
      await expect.poll(() => members.allTextContents()).toEqual([meant.username]);
    });

    it('of a removed member, found by its name, makes it a member again', async () => {
      const name = unique('member');
      const users = await Promise.all(
        ['one', 'two', 'three'].map((end) => signUp(appClient(server()), { username: `${name}-${end}` })),
      );
      const objects = users.map(({ id }) => ({ __type: 'Pointer', className: '_User', objectId: id }));
      const role = { name: unique('role').replaceAll('-', '_'), ACL: {}, users: { __op: 'AddRelation', objects } };
      const roleId = String((await masterClient(server()).post('/1.1/roles', role)).body['objectId']);
      const [first, ...later] = users.map(({ id }) => id).toSorted();
      const page = await open(`roles/${roleId}?after=${String(first)}`);
      const members = page.getByRole('table', { name: 'Users of the role' });
      const ids = () => members.getByRole('cell').locator('code').allTextContents();
      await members.waitFor();
      await expect.poll(ids).toEqual(later);
      const search = page.getByRole('searchbox', { name: 'Search by user name' });
      await search.fill(`${name}-t`);
      await search.press('Enter');
      await expect.poll(ids).toEqual([users[1]!.id, users[2]!.id].toSorted());
      await page.getByRole('button', { name: `Remove ${name}-two` }).click();
      await expect.poll(ids).toEqual([users[2]!.id]);
      await undo(page);
      await expect.poll(async () => (await ids()).length).toBe(2);
    });

    it('of the ownership of an operator takes it again', async () => {
      const name = unique('owner');
      const page = await open('/operators');
      await page.getByRole('button', { name: 'Invite an operator' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Name').fill(name);
      await dialog.getByLabel('E-mail address').fill(`${name}@example.com`);
      await dialog.getByLabel('All applications').selectOption('viewer');
      await dialog.getByRole('button', { name: 'Invite an operator' }).click();
      const row = page.getByRole('row').filter({ hasText: name });
      const change = async (isOwner: boolean) => {
        await row.getByRole('button', { name: `Actions for ${name}` }).click();
        await page.getByRole('menuitem', { name: 'Change roles' }).click();
        await dialog.getByRole('checkbox', { name: 'Owner' }).setChecked(isOwner);
        await save(page);
      };
      await change(true);
      await row.getByText('Owner', { exact: true }).waitFor();
      await undo(page);
      await row.getByText('viewer: All applications').waitFor();
      await change(true);
      await row.getByText('Owner', { exact: true }).waitFor();
      await change(false);
      await row.getByText('viewer: All applications').waitFor();
    });

    it('is not needed for rights of which a part is refused: none is written', async () => {
      const page = await open('/operators');
      await page.getByRole('button', { name: 'Actions for Ada Lovelace' }).click();
      await page.getByRole('menuitem', { name: 'Change roles' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('checkbox', { name: 'Owner' }).uncheck();
      await dialog.getByLabel('All applications').selectOption('developer');
      for (let round = 0; round < 2; round += 1) {
        const refusal = page.waitForResponse((response) => isAsked('PUT', /\/grants$/)(response.request()));
        await save(page);
        await refusal;
        await dialog.getByText('The last active owner stays.').waitFor();
      }
      expect(await dialog.getByText(CHANGED_SINCE).count()).toBe(0);
    });

    it('removes a first template of a language, whose page offers no way back before', async () => {
      const page = await open('templates/resetPassword/en');
      const store = async () => {
        await save(page);
        await page.getByText('Saved.').last().waitFor();
      };
      const change = async (part: string, text: string) => {
        const field = page.getByRole('textbox', { name: part });
        await field.fill(`${await field.inputValue()}${text}`);
      };
      const reset = page.getByRole('button', { name: 'Back to the built-in template' });
      await change('Subject', '!');
      await store();
      await reset.waitFor();
      await page.goto(page.url().replace(/en$/, 'fr'));
      await page.getByText('text of en', { exact: true }).waitFor();
      expect(await reset.count()).toBe(0);

      await change('Subject', ' (fr)');
      await change('HTML', '<!-- fr -->');
      await page.getByRole('radio', { name: 'Text' }).check();
      await page.getByRole('textbox', { name: 'Text' }).fill('{{link}}');
      await store();
      await reset.waitFor();
      await undo(page);
      await page.getByText('text of en', { exact: true }).waitFor();
    });
  });

  it('text typed in a template goes with its reset, and is not saved over the built-in one', async () => {
    const page = await open('templates/resetPassword/zh-CN');
    const subject = page.getByRole('textbox', { name: 'Subject' });
    const own = page.getByText('own', { exact: true });
    const builtIn = await subject.inputValue();
    await subject.fill('Own');
    await save(page);
    await own.waitFor();
    let writes = 0;
    await answer(page, isAsked('PUT', /\/templates\//), () => {
      writes += 1;
      return undefined;
    });
    await subject.fill('Typed');
    await page.getByRole('button', { name: 'Back to the built-in template' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Back to the built-in template' }).click();
    await own.waitFor({ state: 'detached' });
    await expect.poll(() => subject.inputValue()).toBe(builtIn);
    expect([writes, await page.locator('main').getByRole('alert').count()]).toEqual([0, 0]);
  });

  describe('what is typed while the stored value changes', () => {
    const focused = (page: Page) => page.locator(':focus').inputValue();

    it('stays in the channels of a device, whose save keeps the channels that the device has added', async () => {
      const master = masterClient(server());
      const device = { deviceType: 'android', installationId: unique('device'), channels: ['', 'first', 'old'] };
      const { objectId } = (await master.post('/1.1/installations', device)).body;
      const path = `/1.1/installations/${String(objectId)}`;
      const channels = async () => ((await master.get(path)).body['channels'] as string[]).toSorted();
      const page = await open(`devices/${String(objectId)}`);
      await page.getByLabel('Channels').fill('first, typed');
      const read = page.waitForResponse(
        async (response) =>
          isAsked('GET', /\/devices\//)(response.request()) && (await response.text()).includes('theirs'),
      );
      await master.put(path, { channels: { __op: 'AddUnique', objects: ['theirs'] } });
      await read;
      await page.waitForTimeout(200);
      expect(await focused(page)).toBe('first, typed');
      await save(page);
      await page.getByText('Saved.').waitFor();
      expect(await channels()).toEqual(['', 'first', 'theirs', 'typed']);
      await expect.poll(() => page.getByLabel('Channels').inputValue()).toMatch(/theirs/);
      await undo(page);
      expect(await channels()).toEqual(['', 'first', 'old', 'theirs']);
      // Another comma changes no channel: nothing is sent.
      await page.reload();
      await page.getByLabel('Channels').fill(`${await page.getByLabel('Channels').inputValue()},`);
      await save(page);
      await expect.poll(() => page.getByRole('button', { name: 'Save', exact: true }).count()).toBe(0);
    });

    it('of an access list keeps the rights of a subject that is added once more', async () => {
      const { id } = await signUp(appClient(server()));
      const page = await open(`users/${id}?tab=access`);
      const write = page.getByRole('checkbox', { name: `${id}: Write` });
      const add = async () => {
        await page.getByLabel('User id or role').fill(id);
        await page.getByRole('button', { name: 'Add', exact: true }).click();
      };
      await add();
      await write.check();
      await add();
      expect(await write.isChecked()).toBe(true);
    });

    it('stays in the field of a setting, and saves over the value of another operator only on request', async () => {
      const page = await open('settings');
      const field = page.getByLabel('mailLanguage');
      const flag = page.getByRole('switch', { name: /^requireOldPassword/ });
      await field.waitFor();
      const begin = async (theirs: string, mine: string) => {
        await setSetting(server(), server().app, 'mailLanguage', theirs);
        // The page reads the settings again after a change of another one.
        await flag.focus();
        await field.fill(mine);
        await flag.evaluate((element: { click: () => void }) => {
          element.click();
        });
        await page.getByText(`Stored now: ${theirs}`).waitFor();
        expect(await focused(page)).toBe(mine);
      };
      const stored = async () => {
        await page.reload();
        await field.waitFor();
        return field.inputValue();
      };
      await begin('zh-CN', 'fr');
      await page.keyboard.press('Control+s');
      expect(await page.getByRole('button', { name: 'Save', exact: true }).count()).toBe(0);
      await page.getByRole('button', { name: 'Take what is stored' }).click();
      expect([await field.inputValue(), await keepMine(page).count(), await stored()]).toEqual(['zh-CN', 0, 'zh-CN']);
      await begin('de', 'fr');
      await keepMine(page).click();
      await expect.poll(() => keepMine(page).count()).toBe(0);
      expect(await stored()).toBe('fr');
    });
  });

  describe('acts for selected users', () => {
    it('end the session of each, with progress, and say which were refused', async () => {
      const name = unique('each');
      const users = await Promise.all(
        ['a', 'b'].map((end) => signUp(appClient(server()), { username: `${name}-${end}` })),
      );
      const page = await open(`users?q=${name}`);
      let isRefused = true;
      await answer(page, isAsked('POST', /\/end-session$/), (request) =>
        isRefused && request.url().includes(users[0]!.id) ? refused(400, 'NO_EFFECT') : undefined,
      );
      await page.getByRole('checkbox', { name: 'Select all rows of this page' }).check();
      const act = async () => {
        await page.getByRole('toolbar').getByRole('button', { name: 'End sessions' }).click();
        await page.getByRole('dialog').getByRole('button', { name: 'End sessions' }).click();
      };
      const codeOf = async ({ session }: (typeof users)[number]) =>
        (await appClient(server()).get('/1.1/users/me', { session })).body['code'];
      await page.getByRole('toolbar').getByRole('button', { name: 'End sessions' }).click();
      await page.getByRole('dialog').waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await act();
      await page.getByText('Done for 1 of 2. Refused for 1: refused by the test').waitFor();
      await expect.poll(() => Promise.all(users.map(codeOf))).toEqual([undefined, 211]);
      isRefused = false;
      await act();
      await page.getByText('Done for 2 of 2.').waitFor();
      await expect.poll(() => Promise.all(users.map(codeOf))).toEqual([211, 211]);
    });
  });

  describe('what the page says', () => {
    const ago = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();
    const message = {
      ...{ id: '00000000-0000-4000-8000-000000000001', channel: 'sms', kind: 'login', recipient: '+8613900000000' },
      ...{ userId: null, status: 'dead', attempts: 1, lastError: null, nextAttemptAt: null, settledAt: null },
      ...{ createdAt: ago(2), expiresAt: ago(-1) },
    };

    it('names the purpose of a text message, and offers no retry of an expired one', async () => {
      const page = await open('users');
      let expiresAt = message.expiresAt;
      await answer(page, isAsked('GET', /\/messages\/[\w-]+$/), () => ({
        json: { message: { ...message, expiresAt }, history: [] },
      }));
      await page.goto(page.url().replace(/users$/, `messages/${message.id}`));
      const retry = page.getByRole('button', { name: 'Try again' });
      await page.getByRole('heading', { name: 'Code for a login' }).waitFor();
      await retry.waitFor();
      expiresAt = ago(1);
      await page.reload();
      await page.getByRole('heading', { name: 'Code for a login' }).waitFor();
      expect(await retry.count()).toBe(0);
    });

    it('on the overview names an old master key and answers that reveal accounts, while they do', async () => {
      const page = await open('overview');
      const old = page.getByText('An old master key is still accepted.');
      const loud = page.getByText('quietProfile is off');
      await loud.waitFor();
      expect(await old.count()).toBe(0);
      const oldKeys = [{ kind: 'master', replacedAt: ago(1), acceptedUntil: null }];
      await page.route(/\/api\/apps\/[\w-]+$/, async (route) => {
        const headers = { ...(await route.request().allHeaders()), 'sec-fetch-site': 'same-origin' };
        const { application } = (await (await route.fetch({ headers })).json()) as { application: object };
        await route.fulfill({ json: { application: { ...application, oldKeys } } });
      });
      await setSetting(server(), server().app, 'quietProfile', 'true');
      await page.reload();
      await old.waitFor();
      expect(await loud.count()).toBe(0);
      await setSetting(server(), server().app, 'quietProfile', 'false');
    });

    it('is the reason of the server where an act has no effect', async () => {
      const page = await open('settings');
      await answer(page, isAsked('PUT', /\/settings\//), () => refused(400, 'NO_EFFECT'));
      await page.getByLabel('mailLanguage').fill('de');
      await save(page);
      await page.getByText('refused by the test').waitFor();
    });

    it('is where the fields of a user are no JSON object', async () => {
      const { id } = await signUp(appClient(server()));
      const page = await open(`users/${id}`);
      await page.getByLabel('Own fields').fill('{"level": 3,}');
      await save(page);
      await page.getByText('This is no JSON object:').waitFor();
      expect(await page.getByText('The page met an unexpected problem').count()).toBe(0);
    });

    it('gives a way to remove the secret of forwarded requests', async () => {
      const page = await open('settings');
      const field = page.getByLabel('forwardSecret');
      await field.fill('s'.repeat(32));
      await save(page);
      const remove = page.getByRole('button', { name: 'Remove', exact: true });
      await remove.click();
      await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click();
      await page.getByPlaceholder('not set', { exact: true }).waitFor();
      await expect.poll(() => remove.count()).toBe(0);
    });
  });

  it('sends a push that was changed after a failure as another one, the same as the same', async () => {
    const device = { deviceType: 'android', installationId: unique('device') };
    await masterClient(server()).post('/1.1/installations', { ...device, channels: ['changed'] });
    const page = await open('pushes/new');
    const isSend = isAsked('POST', /\/pushes$/);
    await answer(page, isSend, () => refused(503, 'SERVICE_UNAVAILABLE'));
    await page.getByRole('radio', { name: 'Channels' }).check();
    await page.getByRole('textbox', { name: 'Channels' }).fill('changed');
    const idOf = async (text: string): Promise<unknown> => {
      await page.getByLabel('Text').fill(text);
      await page.getByRole('button', { name: 'Send to 1 device' }).click();
      const [asked] = await Promise.all([
        page.waitForRequest(isSend),
        page.getByRole('dialog').getByRole('button', { name: 'Send the push' }).click(),
      ]);
      await page.getByRole('dialog').getByRole('alert').waitFor();
      await page.keyboard.press('Escape');
      return (asked.postDataJSON() as { body: Record<string, unknown> }).body['req_id'];
    };
    const [wrong, again, changed] = [await idOf('a mistake'), await idOf('a mistake'), await idOf('as it should be')];
    expect([again, changed]).toEqual([wrong, expect.stringMatching(/^[0-9a-f]{16}$/)]);
    expect(changed).not.toBe(wrong);
    expect(await idOf('a mistake')).toBe(wrong);
  });
}
