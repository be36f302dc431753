import { TOTP } from 'otpauth';
import type { Page } from 'playwright-core';
import { afterAll, describe, expect, it } from 'vitest';
import {
  accessibilityProblems,
  freePorts,
  gatepost,
  startStandalone,
  useBrowser,
  useServer,
  type Visit,
} from '#testing';

const PASSWORD = 'four words are enough';
const ADA = 'ada@example.com';
const STEP_MS = 30_000;

const server = useServer(async () =>
  startStandalone({
    GATEPOST_CONSOLE_PORT: String(await freePorts(1)),
    GATEPOST_CONSOLE_SECOND_FACTOR: 'required',
  }),
);
const begin = useBrowser();
const visits: Visit[] = [];

async function visit(options: Parameters<typeof begin>[0] = { locale: 'en-GB' }): Promise<Page> {
  const one = await begin(options);
  visits.push(one);
  return one.page;
}

const setUpLink = () => /Console\s+(\S+)/.exec(server().main.stdout)?.[1] ?? '';
const origin = () => new URL(setUpLink()).origin;
const menu = (page: Page) => page.getByRole('navigation', { name: 'Pages' });

/** A platform authenticator of Chromium that the operator unlocks at once. */
async function withAuthenticator(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send('WebAuthn.enable');
  await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
}

async function signOut(page: Page): Promise<void> {
  await page.context().clearCookies();
  await page.goto(`${origin()}/sign-in`);
}

async function enterPassword(page: Page): Promise<void> {
  await page.getByLabel('E-mail address').fill(ADA);
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

async function enterCode(page: Page, code: string): Promise<void> {
  await page.getByLabel('Code', { exact: true }).fill(code);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

describe('second factors in a browser', () => {
  let page: Page;
  let totp: TOTP;
  let recoveryCodes: readonly string[];

  afterAll(() => {
    expect(visits.flatMap(({ complaints }) => complaints.filter((each) => !each.includes('net::ERR_ABORTED')))).toEqual(
      [],
    );
  });

  it('lead the first owner to the profile, and from there to the overview', async () => {
    page = await visit();
    await page.goto(setUpLink());
    await page.getByLabel('Name').fill('Ada Lovelace');
    await page.getByLabel('E-mail address').fill(ADA);
    await page.getByLabel('New password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Create the owner' }).click();
    await page.getByText('Your role needs a second factor. Add a passkey').waitFor();
    await page.goto(`${origin()}/operators`);
    await page.waitForURL(`${origin()}/profile`);
    await page.getByRole('button', { name: 'Set up one-time codes' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await dialog.getByRole('img', { name: 'QR code for the authenticator app' }).waitFor();
    totp = new TOTP({ secret: (await dialog.locator('code').textContent()) ?? '' });
    expect(await accessibilityProblems(page)).toEqual([]);
    await dialog.getByLabel('Code', { exact: true }).fill('000000');
    await dialog.getByRole('button', { name: 'Switch on' }).click();
    await dialog.getByText('The code or the passkey is wrong, or was already used.').waitFor();
    await dialog.getByLabel('Code', { exact: true }).fill(totp.generate());
    await dialog.getByRole('button', { name: 'Switch on' }).click();
    await page.getByRole('heading', { name: 'Recovery codes' }).waitFor();
    recoveryCodes = ((await page.getByRole('dialog').locator('pre').textContent()) ?? '').split('\n');
    expect(recoveryCodes).toHaveLength(10);
    await page.getByRole('button', { name: 'I have kept them' }).click();
    await page.getByText('10 recovery codes are left.').waitFor();
    // The dialog of the codes has followed the one that this button opens.
    const opener = page.getByRole('button', { name: 'Move one-time codes to another device' });
    await expect.poll(() => opener.and(page.locator(':focus')).count()).toBe(1);
    await page.goto(`${origin()}/operators`);
    await page.getByRole('heading', { level: 1, name: 'Operators' }).waitFor();
  });

  it('are asked for after the password: a code that was not used, or a recovery code once', async () => {
    await signOut(page);
    await enterPassword(page);
    await enterCode(page, totp.generate({ timestamp: Date.now() - 10 * STEP_MS }));
    await page.getByText('The code or the passkey is wrong, or was already used.').waitFor();
    await enterCode(page, totp.generate({ timestamp: Date.now() + STEP_MS }));
    await menu(page).waitFor();
    await signOut(page);
    await enterPassword(page);
    await enterCode(page, recoveryCodes[0] ?? '');
    await menu(page).waitFor();
    await signOut(page);
    await enterPassword(page);
    await enterCode(page, recoveryCodes[0] ?? '');
    await page.getByText('The code or the passkey is wrong, or was already used.').waitFor();
    await enterCode(page, recoveryCodes[1] ?? '');
    await menu(page).waitFor();
  });

  it('are passkeys, which sign in and prove the identity alone', async () => {
    await withAuthenticator(page);
    await page.goto(`${origin()}/profile`);
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('This laptop');
    await page.getByRole('dialog').getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('rowheader', { name: 'This laptop' }).waitFor();
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('The same');
    await page.getByRole('dialog').getByRole('button', { name: 'Continue' }).click();
    await page.getByText('This device has a passkey of yours for this console already.').waitFor();
    await signOut(page);
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    await menu(page).waitFor();
    await page.goto(`${origin()}/profile`);
    await page.getByRole('button', { name: 'Remove one-time codes' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await page.getByText('One-time codes are off.').waitFor();
    await page.getByRole('table', { name: 'Passkeys' }).getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await page.getByText('Your role needs a second factor. Keep one').waitFor();
  });

  it.each(['light', 'dark'] as const)('are accessible on the profile, %s', async (colorScheme) => {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto(`${origin()}/profile`);
    await page.getByRole('rowheader', { name: 'This laptop' }).waitFor();
    expect(await accessibilityProblems(page)).toEqual([]);
  });

  it('end by a recovery link, which says so before', async () => {
    const { stdout } = await gatepost(server(), 'console', 'recover', ADA);
    await page.goto(stdout.trim());
    await page.getByText(/your passkeys, one-time codes and recovery codes stop working/).waitFor();
    await page.getByLabel('New password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Set the password' }).click();
    await page.getByText('Your role needs a second factor. Add a passkey').waitFor();
  });
});
