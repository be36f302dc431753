import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  accessibilityProblems,
  freePorts,
  OidcIssuer,
  START_TIMEOUT_MS,
  startStandalone,
  useBrowser,
  useServer,
  type Visit,
} from '#testing';

const PASSWORD = 'four words are enough';
const ADA = 'ada@example.com';

let issuer: OidcIssuer;
const server = useServer(async () => {
  issuer = await OidcIssuer.start();
  const port = await freePorts(1);
  await issuer.serve(`http://localhost:${port}`);
  return startStandalone({ GATEPOST_CONSOLE_PORT: String(port), ...issuer.env });
});
const begin = useBrowser();
const visits: Visit[] = [];

async function visit(): Promise<Page> {
  const one = await begin({ locale: 'en-GB' });
  visits.push(one);
  return one.page;
}

const setUpLink = () => /Console\s+(\S+)/.exec(server().main.stdout)?.[1] ?? '';
const origin = () => new URL(setUpLink()).origin;
const host = () => new URL(issuer.url).host;
const menu = (page: Page) => page.getByRole('navigation', { name: 'Pages' });
const byIssuer = (page: Page) => page.getByRole('button', { name: `Sign in by ${host()}` });

/** The pages of the issuer are in English. */
async function enterAccount(page: Page, account: string): Promise<void> {
  await page.getByRole('heading', { name: 'Test issuer' }).waitFor();
  await page.getByLabel('Account').fill(account);
  await page.getByRole('button', { name: 'Continue' }).click();
}

describe('the issuer in a browser', () => {
  let page: Page;

  beforeAll(async () => {
    issuer.people.set('ada', { email: ADA, email_verified: true, name: 'Ada' });
    issuer.people.set('bo', { email: 'bo@example.com', email_verified: false, name: 'Bo' });
    page = await visit();
    await page.goto(setUpLink());
    await page.getByLabel('Name').fill('Ada Lovelace');
    await page.getByLabel('E-mail address').fill(ADA);
    await page.getByLabel('New password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Create the owner' }).click();
    await menu(page).waitFor();
  }, START_TIMEOUT_MS);
  afterAll(async () => {
    await issuer.stop();
    // A refused sign-in is a complaint of the browser about the answer 403.
    const expected = /net::ERR_ABORTED|status of 40[03]/;
    expect(visits.flatMap(({ complaints }) => complaints.filter((each) => !expected.test(each)))).toEqual([]);
  });

  it('does not sign an operator with a password in before the operator has connected the account', async () => {
    const other = await visit();
    await other.goto(`${origin()}/sign-in`);
    await byIssuer(other).click();
    await enterAccount(other, 'ada');
    await other.getByText('An operator has this e-mail address already.').waitFor();
    expect(new URL(other.url()).search).toBe('');
    expect(await accessibilityProblems(other)).toEqual([]);
    await other.getByRole('link', { name: 'Begin again' }).click();
    await byIssuer(other).waitFor();
  });

  it('is connected in the profile, and then signs in, back to the page that was asked for', async () => {
    await page.goto(`${origin()}/profile`);
    await page.getByRole('button', { name: 'Connect an account' }).click();
    await enterAccount(page, 'ada');
    await page.waitForURL(`${origin()}/profile`);
    await page.getByText('An account of this issuer is connected').waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
    const other = await visit();
    await other.goto(`${origin()}/operators`);
    await other.waitForURL(/\/sign-in/);
    await byIssuer(other).waitFor();
    expect(await accessibilityProblems(other)).toEqual([]);
    await byIssuer(other).click();
    await enterAccount(other, 'ada');
    await other.waitForURL(`${origin()}/operators`);
    await other.getByRole('heading', { level: 1, name: 'Operators' }).waitFor();
  });

  it('proves the identity in another tab, and the act goes on', async () => {
    const other = await visit();
    await other.goto(`${origin()}/sign-in`);
    await byIssuer(other).click();
    await enterAccount(other, 'ada');
    await menu(other).waitFor();
    await other.goto(`${origin()}/operators`);
    await other.getByRole('button', { name: 'Invite an operator' }).click();
    const dialog = other.getByRole('dialog', { name: 'Invite an operator' });
    await dialog.getByLabel('Name').fill('Bo');
    await dialog.getByLabel('E-mail address').fill('bo@example.com');
    await dialog.getByRole('button', { name: 'Invite an operator' }).click();
    const gate = other.getByRole('dialog', { name: 'Confirm that it is you' });
    await gate.waitFor();
    expect(await accessibilityProblems(other)).toEqual([]);
    const [tab] = await Promise.all([other.context().waitForEvent('page'), byIssuer(other).click()]);
    await enterAccount(tab, 'ada');
    await tab.getByText('It is you. Close this tab').waitFor();
    await other.getByText('Hand this link over').waitFor();
  });

  it('refuses an address that it has not verified', async () => {
    const other = await visit();
    await other.goto(`${origin()}/sign-in`);
    await byIssuer(other).click();
    await enterAccount(other, 'bo');
    await other.getByText('The issuer has not verified the e-mail address').waitFor();
    expect(await accessibilityProblems(other)).toEqual([]);
  });

  it('says so where the person has refused', async () => {
    const other = await visit();
    await other.goto(`${origin()}/sign-in`);
    await byIssuer(other).click();
    await other.getByRole('button', { name: 'Refuse' }).click();
    await other.getByText('The issuer has refused the sign-in').waitFor();
  });
});

describe('a console without passwords, in Chinese', () => {
  let ownIssuer: OidcIssuer;
  const closed = useServer(async () => {
    ownIssuer = await OidcIssuer.start();
    const port = await freePorts(1);
    await ownIssuer.serve(`http://localhost:${port}`);
    ownIssuer.people.set('li', { email: 'li@example.com', email_verified: true, name: '李雷', groups: ['admins'] });
    const groups = { GATEPOST_CONSOLE_PASSWORDS: 'off', GATEPOST_CONSOLE_OIDC_ROLES: 'admins:owner' };
    return startStandalone({ GATEPOST_CONSOLE_PORT: String(port), ...ownIssuer.env, ...groups });
  });
  afterAll(() => ownIssuer.stop());

  it('makes an owner of a member of the group, without another login method', async () => {
    const { page, complaints } = await begin({ locale: 'zh-CN' });
    const home = `http://localhost:${closed().env['GATEPOST_CONSOLE_PORT']}`;
    await page.goto(home);
    const signIn = page.getByRole('button', { name: `通过 ${new URL(ownIssuer.url).host} 登录` });
    await signIn.waitFor();
    expect(await page.locator('input').count()).toBe(0);
    expect(await accessibilityProblems(page)).toEqual([]);
    await signIn.click();
    await enterAccount(page, 'li');
    await page.getByRole('heading', { level: 1, name: '概览' }).waitFor();
    await page.goto(`${home}/profile`);
    await page.getByText('这是你唯一的登录方式，因此保持关联。').waitFor();
    expect(await page.locator('input[type=password]').count()).toBe(0);
    expect(await accessibilityProblems(page)).toEqual([]);
    // The change of the page has ended requests of the overview.
    expect(complaints.filter((each) => !each.includes('net::ERR_ABORTED'))).toEqual([]);
  });
});
