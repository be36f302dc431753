import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { appClient, type GatepostServer, masterClient, signUp, unique } from '#testing';
import type { OperatorPages } from './operator.js';
import { answer, comeBack, isAsked, refused } from './page-requests.js';

/** Longer than the page takes an answer for new. */
const OLD_MS = 6_000;
const TYPING_MS = 700;
const leaveOf = (page: Page) => page.getByRole('dialog', { name: 'Leave without saving?' });
const dialogOf = (page: Page) => page.getByRole('dialog');
const button = (page: Page, name: RegExp | string) => page.getByRole('button', { name });
const goTo = (page: Page, name: string) =>
  page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name, exact: true }).click();

/** The tests are compiled without the types of a page. */
const colorOf = (element: unknown) =>
  (globalThis as unknown as { getComputedStyle: (of: unknown) => { backgroundColor: string } }).getComputedStyle(
    element,
  ).backgroundColor;

/** Forms: what they refuse, what they keep, and what a page that is read says meanwhile. */
export function describeForms(server: () => GatepostServer, { open, openWithClock, signedIn }: OperatorPages): void {
  describe('a new push', () => {
    it('is not sent at a past time, and one at a later time names it with its zone', async () => {
      const page = await open('pushes/new');
      await page.getByLabel('Text').fill('Autumn sale');
      await page.getByRole('radio', { name: 'Later' }).check();
      const time = page.getByLabel(/^Time \(/);
      await time.fill('2020-01-01T10:00');
      await page.getByText('This time is past.').waitFor();
      await page.waitForTimeout(TYPING_MS);
      expect(await button(page, /^Send (?:to \d|the push)/).isDisabled()).toBe(true);
      const year = new Date().getUTCFullYear() + 1;
      await time.fill(`${year}-11-27T09:00`);
      await button(page, new RegExp(`^Schedule for 27 Nov ${year}, 09:00:00 \\(.+\\)$`)).click();
      await dialogOf(page)
        .getByText(new RegExp(`goes out on 27 Nov ${year}, 09:00:00 \\(.+\\), to the devices that match then`))
        .waitFor();
      await dialogOf(page).getByRole('button', { name: 'Schedule the push' }).waitFor();
    });

    it('to channels asks for their names before it counts devices', async () => {
      const page = await open('pushes/new');
      const isCount = isAsked('POST', /\/pushes\/count$/);
      const counted = page.waitForResponse((response) => {
        const request = response.request();
        return isCount(request) && (request.postData() ?? '').includes('Autumn sale');
      });
      await page.getByLabel('Text').fill('Autumn sale');
      await counted;
      let asked = 0;
      await answer(page, isCount, () => {
        asked += 1;
        return undefined;
      });
      await page.getByRole('radio', { name: 'Channels' }).check();
      await page.waitForTimeout(TYPING_MS);
      expect(await page.getByRole('alert').count()).toBe(0);
      expect(await button(page, /^Send (?:to \d|the push)/).isDisabled()).toBe(true);
      expect([asked, await page.getByText('--channel').count()]).toEqual([0, 0]);
    });

    it('stays in its tab until it is sent or discarded, and is one push however often it is sent', async () => {
      const device = { deviceType: 'android', installationId: unique('device'), channels: ['kept'] };
      await appClient(server()).post('/1.1/installations', device);
      const page = await open('pushes/new');
      const text = page.getByLabel('Text');
      await text.fill('Autumn sale');
      await page.getByRole('radio', { name: 'Channels' }).check();
      await page.getByRole('textbox', { name: 'Channels' }).fill('kept');
      await page.getByLabel('Pace').selectOption('5,000 devices per second');
      const isSend = isAsked('POST', /\/pushes$/);
      await answer(page, isSend, () => refused(503, 'SERVICE_UNAVAILABLE'));
      const bodyOf = async (): Promise<Record<string, unknown>> => {
        await button(page, 'Send to 1 device').click();
        const [asked] = await Promise.all([
          page.waitForRequest(isSend),
          dialogOf(page).getByRole('button', { name: 'Send the push' }).click(),
        ]);
        await dialogOf(page).getByRole('button', { name: 'Cancel' }).click();
        return (asked.postDataJSON() as { body: Record<string, unknown> }).body;
      };
      const first = await bodyOf();
      expect(first).toMatchObject({ channels: ['kept'], flow_control: 5_000 });
      await goTo(page, 'Devices');
      await page.getByRole('heading', { level: 1, name: 'Devices' }).waitFor();
      await page.goBack();
      expect(await text.inputValue()).toBe('Autumn sale');
      await page.reload();
      expect(await bodyOf()).toEqual(first);
      await button(page, 'Discard').click();
      expect(await text.inputValue()).toBe('');
      await page.reload();
      expect(await text.inputValue()).toBe('');
    });

    it('begins with what another one was, by "Send again…", beside the draft that is there', async () => {
      const channel = unique('again');
      const device = { deviceType: 'android', installationId: unique('device'), channels: [channel] };
      await appClient(server()).post('/1.1/installations', device);
      const sent = await masterClient(server()).post('/1.1/push', {
        ...{ channels: [channel], data: { title: 'Sale', alert: 'Half price', url: 'shop://sale' } },
        ...{ expiration_interval: 7_200, flow_control: 2_500, prod: 'dev' },
      });
      const page = await open('pushes/new');
      await page.getByLabel('Text').fill('a draft');
      await page.goto(page.url().replace(/new$/, String(sent.body['objectId'])));
      await page.getByRole('link', { name: 'Send again…' }).click();
      await page.getByRole('heading', { level: 1, name: 'New push' }).waitFor();
      const values = () =>
        Promise.all(
          ['Title', 'Text', 'Further members', 'Expires', 'Pace'].map((label) => page.getByLabel(label).inputValue()),
        );
      await expect.poll(values).toEqual(['Sale', 'Half price', '{\n  "url": "shop://sale"\n}', '2', '2500']);
      await page.getByText('development environment').waitFor();
      await button(page, 'Send to 1 device').click();
      const [asked] = await Promise.all([
        page.waitForRequest(isAsked('POST', /\/pushes$/)),
        dialogOf(page).getByRole('button', { name: 'Send the push' }).click(),
      ]);
      expect(asked.postDataJSON()).toMatchObject({
        body: {
          ...{ data: { title: 'Sale', alert: 'Half price', url: 'shop://sale' } },
          ...{ expiration_interval: 7_200, flow_control: 2_500, prod: 'dev' },
        },
      });
      await page.waitForURL(/\/pushes\/(?!new)[\w-]+$/);
      await goTo(page, 'Pushes');
      await page.getByRole('link', { name: 'New push' }).click();
      await expect.poll(() => page.getByLabel('Text').inputValue()).toBe('a draft');
    });
  });

  describe('what is typed and not saved', () => {
    it.each([
      ['User name', 'users', ['Access', 'Profile']],
      ['mailLanguage', 'settings', ['Keys', 'General']],
      ['Subject', 'templates/verifyEmail/en', []],
    ])('stays in "%s" of %s, which the operator leaves only after a question', async (label, path, [away, back]) => {
      const { id } = await signUp(appClient(server()));
      const page = await open(path === 'users' ? `users/${id}` : path);
      const field = page.getByLabel(label, { exact: true });
      const openTab = async (name: string | undefined) => {
        if (name !== undefined) await page.getByRole('tab', { name, exact: true }).click();
      };
      await field.click();
      await field.fill('typed');
      await openTab(away);
      await goTo(page, 'Devices');
      await leaveOf(page).getByRole('button', { name: 'Stay' }).click();
      await leaveOf(page).waitFor({ state: 'detached' });
      await openTab(back);
      expect(await field.inputValue()).toBe('typed');
      const asked = page.waitForEvent('dialog');
      await page.evaluate('setTimeout(() => location.reload())');
      const question = await asked;
      expect(question.type()).toBe('beforeunload');
      await question.dismiss();
      expect(await field.inputValue()).toBe('typed');
      await goTo(page, 'Devices');
      await leaveOf(page).getByRole('button', { name: 'Leave' }).click();
      await page.getByRole('heading', { level: 1, name: 'Devices' }).waitFor();
      await goTo(page, 'Roles');
      await page.getByRole('heading', { level: 1, name: 'Roles' }).waitFor();
    });

    it('asks before a sign-out, which Stay cancels', async () => {
      const page = await signedIn();
      await page.goto(`${new URL(page.url()).origin}/profile`);
      let ends = 0;
      await answer(page, isAsked('POST', /\/sign-out$/), () => {
        ends += 1;
        return undefined;
      });
      const field = page.getByLabel('Name', { exact: true });
      await field.fill('typed');
      for (const answered of ['Stay', 'Leave']) {
        expect([ends, await field.inputValue()]).toEqual([0, 'typed']);
        await button(page, /Ada Lovelace/).click();
        await page.getByRole('menuitem', { name: 'Sign out' }).click();
        await leaveOf(page).getByRole('button', { name: answered }).click();
        await leaveOf(page).waitFor({ state: 'detached' });
      }
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
      await expect.poll(() => ends).toBe(1);
    });

    it('takes no Enter that ends the composition of a word', async () => {
      const { id } = await signUp(appClient(server()));
      const page = await open(`users/${id}?tab=access`);
      const subject = page.getByLabel('User id or role');
      await subject.focus();
      const keys = await page.context().newCDPSession(page);
      await keys.send('Input.imeSetComposition', { text: 'peng', selectionStart: 4, selectionEnd: 4 });
      await keys.send('Input.dispatchKeyEvent', { type: 'rawKeyDown', key: 'Enter', code: 'Enter' });
      await keys.send('Input.insertText', { text: 'role:朋友' });
      expect(await subject.inputValue()).toBe('role:朋友');
      await page.keyboard.press('Enter');
      await page.getByRole('row', { name: /role:朋友/ }).waitFor();
      expect(await page.getByRole('row').count()).toBe(2);
    });

    it('is saved once by Ctrl S, however often the key is pressed', async () => {
      const { id } = await signUp(appClient(server()));
      const page = await open(`users/${id}`);
      const field = page.getByLabel('User name');
      let saves = 0;
      await answer(page, isAsked('PATCH', /\/users\//), () => {
        saves += 1;
        return undefined;
      });
      const name = unique('saved');
      await field.fill(name);
      await Promise.all(Array.from({ length: 5 }, () => page.keyboard.press('Control+s')));
      await page.getByText('Saved.').waitFor();
      await page.waitForTimeout(300);
      expect([saves, await page.getByText('This has changed since').count()]).toEqual([1, 0]);
      await field.fill(`${name}-more`);
      await page.keyboard.press('Control+s');
      await page.getByText('Saved.').nth(1).waitFor();
    });

    it('is saved by Ctrl S only in the form that has the focus', async () => {
      const page = await open('settings');
      const saved: string[] = [];
      await answer(page, isAsked('PUT', /\/settings\//), (request) => {
        saved.push(new URL(request.url()).pathname.split('/').at(-1) ?? '');
        return refused(400, 'NO_EFFECT');
      });
      await page.getByLabel('verifyEmailPage').fill('https://app.example/verify');
      await page.getByLabel('mailLanguage').fill('de');
      await page.keyboard.press('Control+s');
      await page.getByText('refused by the test').waitFor();
      expect(saved).toEqual(['mailLanguage']);
    });

    it('leaves the focus in its field when it is discarded, and takes the failure of its save away', async () => {
      const page = await open('settings');
      await answer(page, isAsked('PUT', /\/settings\//), () => refused(400, 'NO_EFFECT'));
      const field = page.getByLabel('mailLanguage');
      await field.fill('de');
      await button(page, 'Save').press('Enter');
      const failure = page.getByText('refused by the test');
      await failure.waitFor();
      await button(page, 'Discard').press('Enter');
      await field.and(page.locator(':focus')).waitFor();
      await field.fill('fr');
      expect(await failure.count()).toBe(0);
    });
  });

  it('the preview of a mail is as wide as a phone, and dark, on request alone', async () => {
    const page = await open('templates/verifyEmail/en');
    await page.emulateMedia({ colorScheme: 'dark' });
    const mail = page.locator('iframe');
    const ground = () => mail.contentFrame().locator('body.page').evaluate(colorOf);
    await expect.poll(ground).toBe('rgb(255, 255, 255)');
    await page.emulateMedia({ colorScheme: 'light' });
    await page.getByLabel('Dark').check();
    await page.getByLabel('Phone width').check();
    await expect.poll(ground).toBe('rgb(20, 23, 27)');
    expect((await mail.boundingBox())?.width).toBe(390);
  });

  describe('a page that gets no answer', () => {
    const again = 'The page tries again by itself.';

    it('asks again after the time that the server names, until it has one', async () => {
      const page = await open('users');
      let isAway = true;
      await page.route(/\/api\/apps\/[\w-]+\/roles(?:\?|$)/, (route) =>
        isAway
          ? route.fulfill({ ...refused(503, 'SERVICE_UNAVAILABLE'), headers: { 'Retry-After': '1' } })
          : route.fallback(),
      );
      await goTo(page, 'Roles');
      const alert = page.getByRole('alert');
      await alert.getByText(again).waitFor();
      // It stays while the page asks once more.
      for (let round = 0; round < 10; round += 1) {
        await page.waitForTimeout(300);
        expect(await alert.getByText(again).count()).toBe(1);
      }
      isAway = false;
      await alert.waitFor({ state: 'detached' });
    });

    it('shows what it had, with the time of that, and asks until the connection is back', async () => {
      const { username } = await signUp(appClient(server()));
      const page = await openWithClock('users');
      const row = page.getByRole('row').filter({ hasText: username });
      await row.waitFor();
      let isAway = true;
      const isList = isAsked('GET', /\/users$/);
      await page.route('**/api/**', (route) =>
        isAway && isList(route.request()) ? route.abort('aborted') : route.fallback(),
      );
      await page.clock.fastForward(OLD_MS);
      await comeBack(page);
      await page.getByText(again).waitFor();
      await page.getByText(/Last answer: \d\d:\d\d:\d\d/).waitFor();
      expect(await row.count()).toBe(1);
      isAway = false;
      await page.clock.fastForward(OLD_MS);
      await page.getByText(again).waitFor({ state: 'detached' });
    });

    it('shows at once that an act is refused, though what it reads again has no answer', async () => {
      const page = await open('settings');
      await page.getByLabel('mailLanguage').fill('de');
      await page.route('**/api/**', (route) =>
        route.request().method() === 'GET' ? undefined : route.fulfill(refused(400, 'INCORRECT_TYPE')),
      );
      await button(page, 'Save').click();
      await page.getByText('refused by the test').waitFor();
    });

    it('does not say so of an act, which it does not repeat', async () => {
      const page = await open('settings');
      await page.route('**/settings/*', (route) => route.abort('aborted'));
      await page.getByLabel('mailLanguage').fill('de');
      await button(page, 'Save').click();
      await page.getByText('The console does not answer.').waitFor();
      expect(await page.getByText(again).count()).toBe(0);
    });
  });
}
