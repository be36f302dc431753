import { randomUUID } from 'node:crypto';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { appClient, signUp, unique, useServer } from '#testing';
import { describeConditions } from './suites/conditions.suite.js';
import { describeForms } from './suites/console-forms.suite.js';
import { describeStates } from './suites/console-states.suite.js';
import {
  OWNER,
  PASSWORD,
  type ServerWithConsole,
  startOneProcess,
  useOperator,
  useOperatorPages,
} from './suites/operator.js';
import { answer, comeBack, hold, isAsked, refused } from './suites/page-requests.js';

/** Longer than the page takes an answer for new, the session included. */
const STALE_MS = 61_000;
/** Until the page asks for a list again. */
const NEXT_READ_MS = 5_000;
const HOUR_MS = 3_600_000;

const server = useServer(() => startOneProcess({})) as () => ServerWithConsole;
const operator = useOperator(server);
const { open, openWithClock, signedIn } = useOperatorPages(operator);

const menuOf = (page: Page) => page.getByRole('navigation', { name: 'Pages' });
const signInOf = (page: Page) => page.getByRole('dialog', { name: 'The session is over' });
const proofOf = (page: Page) => page.getByRole('dialog', { name: 'Confirm that it is you' });
const headingOf = (page: Page) => page.getByRole('heading', { level: 1 });
const fire = (page: Page, event: 'offline' | 'online') => page.evaluate(`window.dispatchEvent(new Event('${event}'))`);

/** @returns the name of the element that has the focus */
const focusOf = (page: Page): Promise<string> =>
  page.evaluate('document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent');

describeConditions(server, open);
describeForms(server, { open, openWithClock, signedIn });
describeStates(server, open);

describe('a browser without network', () => {
  it('sends an act at once, says that it failed, and does not send it later', async () => {
    const { id } = await signUp(appClient(server()));
    const page = await openWithClock(`users/${id}`);
    let asked = 0;
    await page.route('**/end-session', (route) => {
      asked += 1;
      return route.abort('aborted');
    });
    await page.getByRole('button', { name: 'End the session' }).click();
    const dialog = page.getByRole('dialog', { name: 'End the session' });
    await fire(page, 'offline');
    await dialog.getByRole('button', { name: 'End the session' }).click();
    await dialog.getByText('The console does not answer.').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.clock.fastForward(STALE_MS);
    const read = page.waitForResponse((response) => isAsked('GET', /\/users\//)(response.request()));
    await fire(page, 'online');
    await read;
    await page.waitForTimeout(300);
    expect(asked).toBe(1);
  });

  it('keeps the menu when a page cannot be loaded, and opens it once the console is back', async () => {
    await signUp(appClient(server()));
    const page = await open('users');
    await page.getByRole('table', { name: 'Users' }).waitFor();
    await page.route('**', (route) => route.abort('aborted'));
    await menuOf(page).getByRole('link', { name: 'Roles' }).click();
    await page.getByRole('main').getByText('The console does not answer.').waitFor();
    await page.unrouteAll();
    await menuOf(page).getByRole('link', { name: 'Users' }).click();
    await page.getByRole('heading', { level: 1, name: 'Users' }).waitFor();
    await menuOf(page).getByRole('link', { name: 'Roles' }).click();
    await page.getByRole('heading', { level: 1, name: 'Roles' }).waitFor();
    // React reports the error that the page shows.
    for (const { complaints } of operator().visits)
      complaints.splice(0, Infinity, ...complaints.filter((each) => !each.includes('UNREACHABLE')));
  });
});

it('finds a user by the search of all pages, and opens it with Enter', async () => {
  const username = unique('palette');
  const user = await signUp(appClient(server()), { username });
  const page = await open('devices');
  await page.getByRole('button', { name: 'Search' }).click();
  const palette = page.getByRole('dialog', { name: 'Search or jump to' });
  await palette.getByLabel('Search').fill(username);
  await palette.locator('[data-selected]', { hasText: username }).waitFor();
  await page.keyboard.press('Enter');
  await page.waitForURL(`**/users/${user.id}`);
});

describe('the focus', () => {
  it.each([
    ['permissions', /^Change _User: /],
    ['settings?tab=keys', 'Replace keys'],
    ['/profile', 'Set up one-time codes'],
  ])('returns from a dialog of %s to the button that has opened it', async (path, name) => {
    const page = await open(path);
    const button = page.getByRole('button', { name }).first();
    await button.focus();
    const before = await focusOf(page);
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await expect.poll(() => focusOf(page)).not.toBe(before);
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await expect.poll(() => focusOf(page)).toBe(before);
  });

  it('returns from a dialog that a menu has opened to the button of the menu', async () => {
    const page = await open('/operators');
    await page.getByRole('button', { name: 'Invite an operator' }).click();
    await page.getByLabel('Name').fill('Bo');
    await page.getByLabel('E-mail address').fill(`${unique('operator')}@example.com`);
    await page.getByRole('dialog').getByRole('button', { name: 'Invite an operator' }).click();
    for (const act of ['Change roles', 'End all sessions', 'Disable']) {
      await page.getByRole('button', { name: 'Actions for Bo' }).focus();
      await page.keyboard.press('Enter');
      await page.getByRole('menuitem', { name: act }).click();
      await page.getByRole('dialog').waitFor();
      await page.getByRole('menu').waitFor({ state: 'detached' });
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await expect.poll(() => focusOf(page)).toBe('Actions for Bo');
    }
  });

  it('goes to the heading of the next page, and Back returns to the place in a list', async () => {
    const api = appClient(server());
    const username = unique('last');
    await signUp(api, { username });
    for (let count = 0; count < 30; count += 1) await signUp(api);
    const page = await open('users');
    await page.setViewportSize({ width: 1280, height: 500 });
    const focused = (heading: string) => page.locator('h1:focus', { hasText: heading }).count();
    const link = page.getByRole('table', { name: 'Users' }).getByRole('link', { name: username });
    await link.focus();
    const place = await page.evaluate<number>('scrollY');
    expect(place).toBeGreaterThan(300);
    // The router notes the place within a tenth of a second.
    await page.waitForTimeout(300);
    await page.keyboard.press('Enter');
    await expect.poll(() => focused(username)).toBe(1);
    expect(await page.evaluate('scrollY')).toBe(0);
    await page.goBack();
    await expect.poll(() => focused('Users')).toBe(1);
    await expect.poll(() => page.evaluate('scrollY')).toBe(place);
  });
});

describe('the times of a page', () => {
  it('are right on a page that follows one without times', async () => {
    const { username } = await signUp(appClient(server()));
    const page = await openWithClock('settings');
    await headingOf(page).waitFor();
    await page.clock.fastForward(HOUR_MS);
    await menuOf(page).getByRole('link', { name: 'Users' }).click();
    const row = page.getByRole('row').filter({ hasText: username });
    await row.getByText('1 hour ago').waitFor();
  });
});

describe('while the next object is read', () => {
  it('the page shows nothing of the one before, and the palette no results of the search before', async () => {
    const api = appClient(server());
    const [one, other] = [unique('one'), unique('other')];
    await signUp(api, { username: one });
    const { id } = await signUp(api, { username: other });
    const page = await open('users');
    const palette = page.getByRole('dialog');
    const openPalette = () => page.getByRole('button', { name: 'Search' }).click();
    const search = (text: string) => palette.getByLabel('Search').fill(text);
    const found = (name: string) => palette.getByRole('option', { name }).or(palette.getByRole('button', { name }));
    await openPalette();
    await search(one);
    await found(one).click();
    await expect.poll(() => page.getByLabel('User name').inputValue()).toBe(one);

    await openPalette();
    await search(one);
    await found(one).waitFor();
    const list = await hold(page, isAsked('GET', /\/users$/));
    await search(other);
    const asked = await list();
    await page.waitForTimeout(100);
    expect(await found(one).count()).toBe(0);
    await asked.continue();
    const read = await hold(page, isAsked('GET', new RegExp(`/users/${id}$`)));
    await found(other).click();
    const held = await read();
    await expect.poll(() => headingOf(page).textContent()).toBe(id);
    expect(await page.getByLabel('User name').count()).toBe(0);
    await held.continue();
    await expect.poll(() => page.getByLabel('User name').inputValue()).toBe(other);
  });
});

describe('the look of the page', () => {
  it('is stored for the operator, and applies in a browser without a choice', async () => {
    const page = await operator().openElsewhere('users');
    const attribute = (at: Page, name: string) => at.locator('html').getAttribute(name);
    const choose = async (name: string, at = page) => {
      const stored = at.waitForResponse((response) => isAsked('PATCH', /\/me$/)(response.request()));
      await at.getByRole('button', { name: OWNER.name }).click();
      await at.locator('[role^=menuitem]').filter({ hasText: name }).click({ timeout: 5_000 });
      expect((await stored).status()).toBe(200);
    };
    await choose('Dark');
    await choose('中文');
    const other = await operator().openElsewhere('users');
    await expect.poll(() => attribute(other, 'lang')).toBe('zh-CN');
    await expect.poll(() => attribute(other, 'data-mantine-color-scheme')).toBe('dark');
    // Before the page's own script runs, and its session is read.
    await other.route(/\/assets\/(?!theme)[^/]+\.js$/, (route) => route.abort('aborted'));
    await other.reload();
    expect(await attribute(other, 'data-mantine-color-scheme')).toBe('dark');
    await other.unrouteAll();
    // It is no choice of that computer: the next choice of the operator counts there, too.
    await choose('English');
    await choose('Light');
    await other.reload();
    await expect.poll(() => attribute(other, 'lang')).toBe('en-GB');
    await expect.poll(() => attribute(other, 'data-mantine-color-scheme')).toBe('light');
    await choose('中文', other);
    await page.reload();
    await expect.poll(() => attribute(page, 'lang')).toBe('en-GB');
    await choose('English');
    await choose('As the system');
  });
});

describe('a session that is over', () => {
  it('is left without a password', async () => {
    const page = await signedIn();
    await page.goto(operator().urlOf('users'));
    await page.getByRole('heading', { level: 1, name: 'Users' }).waitFor();
    await page.context().clearCookies();
    await page.getByRole('button', { name: OWNER.name }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    expect(await page.getByRole('dialog').count()).toBe(0);
  });

  it('does not repeat an act for another operator who signs in', async () => {
    const page = await signedIn();
    const known = page.waitForResponse(/\/api\/session$/);
    await page.goto(operator().urlOf('/profile'));
    const session = (await (await known).json()) as { operator: object };
    await page.getByLabel('Name', { exact: true }).fill('Eve');
    await page.context().clearCookies();
    const other = { ...session, operator: { ...session.operator, id: randomUUID() } };
    await answer(page, isAsked('POST', /\/sign-in$/), () => ({ json: other }));
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await signInOf(page).locator('input[type=password]').fill(PASSWORD);
    let saves = 0;
    page.on('request', (request) => {
      if (request.method() !== 'GET' && !request.url().endsWith('/sign-in')) saves += 1;
    });
    const questions: string[] = [];
    page.on('dialog', (question) => {
      questions.push(question.type());
      void question.accept();
    });
    await signInOf(page).getByRole('button', { name: 'Continue' }).click();
    await headingOf(page).filter({ hasText: 'Sign in' }).waitFor();
    expect([saves, questions]).toEqual([0, []]);
  });

  it('also because another operator has signed in in another tab, does nothing as that operator', async () => {
    const { id } = await signUp(appClient(server()));
    const page = await signedIn();
    await page.goto(operator().urlOf('/operators'));
    await page.getByRole('button', { name: 'Invite an operator' }).click();
    await page.getByLabel('Name').fill('Bo');
    await page.getByLabel('E-mail address').fill(`${unique('operator')}@example.com`);
    await page.getByLabel('All applications').selectOption('support');
    await page.getByRole('dialog').getByRole('button', { name: 'Invite an operator' }).click();
    const link = await page.locator('[data-link]').textContent();

    await page.clock.install();
    await page.goto(operator().urlOf(`users/${id}`));
    const typed = unique('typed');
    await page.getByLabel('User name').fill(typed);
    const other = await page.context().newPage();
    await other.goto(link ?? '');
    await other.getByLabel('New password').fill(PASSWORD);
    await other.getByRole('button', { name: 'Begin', exact: true }).click();
    await menuOf(other).waitFor();

    const session = page.waitForResponse(/\/api\/session$/);
    await page.clock.fastForward(STALE_MS);
    await comeBack(page);
    expect(await (await session).json()).toMatchObject({ operator: null });
    await signInOf(page).getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await signInOf(page).locator('input[type=password]').fill(PASSWORD);
    await signInOf(page).getByRole('button', { name: 'Continue' }).click();
    await page.getByText('Saved.').waitFor();
    await page.goto(operator().urlOf(`/audit?target=${id}`));
    await page.getByRole('row', { name: /Ada Lovelace/ }).waitFor();
    expect(await page.getByRole('row', { name: /Bo/ }).count()).toBe(0);
  });

  it('takes nothing from a page that the operator uses', async () => {
    const page = await signedIn();
    await page.clock.install();
    await page.goto(operator().urlOf('/profile'));
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    const dialog = page.getByRole('dialog', { name: 'Add a passkey' });
    await dialog.getByLabel('Name').fill('typed');
    await page.context().clearCookies();
    const session = page.waitForResponse(/\/api\/session$/);
    await page.clock.fastForward(STALE_MS);
    await comeBack(page);
    expect(await (await session).json()).toMatchObject({ operator: null });
    await signInOf(page).locator('input[type=password]').fill(PASSWORD);
    await signInOf(page).getByRole('button', { name: 'Continue' }).click();
    await signInOf(page).waitFor({ state: 'detached' });
    expect(await dialog.getByLabel('Name').inputValue()).toBe('typed');
  });

  it('is asked for once by a page that reads again and again', async () => {
    const page = await signedIn();
    await page.clock.install();
    await page.goto(operator().urlOf('devices'));
    await page.getByRole('button', { name: 'Export', exact: true }).waitFor();
    await page.context().clearCookies();
    await page.clock.fastForward(NEXT_READ_MS);
    await signInOf(page).getByRole('button', { name: 'Cancel' }).click();
    await signInOf(page).waitFor({ state: 'detached' });
    for (let round = 0; round < 4; round += 1) {
      await page.clock.fastForward(NEXT_READ_MS);
      await page.waitForTimeout(200);
    }
    expect(await signInOf(page).count()).toBe(0);
  });

  it('only for a request that carries a token which another tab replaces: no sign-in is asked for', async () => {
    const page = await signedIn();
    await page.clock.install();
    await page.goto(operator().urlOf('devices'));
    await page.getByRole('button', { name: 'Export', exact: true }).waitFor();
    const other = await page.context().newPage();
    await other.goto(operator().urlOf('devices'));
    let exports = 0;
    await answer(other, isAsked('GET', /\/devices\/export$/), () => {
      exports += 1;
      return exports === 1 ? refused(403, 'PROOF_REQUIRED') : { body: 'file' };
    });
    await other.getByRole('button', { name: 'Export', exact: true }).click();
    await other.getByRole('menuitem', { name: 'CSV' }).click();
    const proving = await hold(other, isAsked('POST', /\/proof$/));
    await proofOf(other).locator('input[type=password]').fill(PASSWORD);
    await proofOf(other).getByRole('button', { name: 'Continue' }).click();
    const proof = await proving();

    const isList = isAsked('GET', /\/devices$/);
    const stale = await hold(page, isList);
    await page.clock.fastForward(NEXT_READ_MS);
    const held = await stale();
    const read = page.waitForResponse((response) => isList(response.request()) && response.ok());
    await held.fulfill(refused(401, 'UNAUTHORIZED'));
    await page.waitForTimeout(300);
    expect(await signInOf(page).count()).toBe(0);
    await proof.continue();
    await read;
    expect(await signInOf(page).count()).toBe(0);
  });
});
