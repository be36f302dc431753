/* global document, requestAnimationFrame -- functions that run in the page */
// The pages of the console in a browser on a slow processor: how soon one can sign in, sees users, and sees the next page of them.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';
import { APP, freePort, newBenchRun, ready } from '../bench-run.mjs';
import { ROOT } from '../../tools/prepare.mjs';
import { installedPrograms } from '../../tools/test/installed-programs.mjs';
import { median } from '../load.mjs';

const USERS = 160;
const SLOWDOWN = 4;
const PASSWORD = 'four words are enough';
const ROUNDS = 9;
const SIGN_IN = 'input[type=email]';
const ROWS = 'tbody.rows tr:nth-child(50)';

/** @returns medians in seconds, of a browser without a cache whose processor is slowed down */
export async function measurePages() {
  const run = await newBenchRun();
  try {
    const port = await freePort();
    const consoleUrl = `http://localhost:${await freePort()}`;
    const env = {
      ...APP,
      GATEPOST_PORT: port,
      GATEPOST_CONSOLE_PORT: new URL(consoleUrl).port,
      GATEPOST_DATA_DIR: run.folder,
      GATEPOST_CONSOLE_SECOND_FACTOR: 'optional',
      GATEPOST_PASSWORD_COST: '4',
    };
    run.launch('dist/apps/standalone/src/main.js', env);
    await ready(port);
    await addUsers(port);
    const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
    const browser = await chromium.launch({ executablePath: installedPrograms.browser().path, args });
    try {
      return await measureIn(browser, consoleUrl, await linkOf(env));
    } finally {
      await browser.close();
    }
  } finally {
    await run.stop();
  }
}

async function addUsers(port) {
  for (let index = 0; index < USERS; index += 1) {
    const response = await fetch(`http://127.0.0.1:${port}/1.1/users`, {
      method: 'POST',
      headers: {
        'X-LC-Id': APP.GATEPOST_APP_ID,
        'X-LC-Key': APP.GATEPOST_APP_KEY,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ username: `user-${index}`, password: PASSWORD, email: `user-${index}@example.com` }),
    });
    if (!response.ok) throw new Error(`a sign-up was answered ${response.status}`);
  }
}

async function linkOf(env) {
  const { stdout } = await promisify(execFile)(process.execPath, ['dist/apps/cli/src/main.js', 'console', 'link'], {
    cwd: ROOT,
    env: { ...process.env, ...env },
  });
  return /http\S+/.exec(stdout)[0];
}

async function measureIn(browser, consoleUrl, link) {
  const owner = await browser.newContext({ locale: 'en-GB' });
  const page = await owner.newPage();
  await page.goto(link);
  await page.getByLabel('Name').fill('Ada Lovelace');
  await page.getByLabel('E-mail address').fill('ada@example.com');
  await page.getByLabel('New password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Create the owner' }).click();
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
  const storageState = await owner.storageState();
  await owner.close();
  const times = { signIn: [], users: [], nextPage: [] };
  const usersUrl = `${consoleUrl}/apps/${APP.GATEPOST_APP_ID}/users`;
  for (let round = 0; round <= ROUNDS; round += 1) {
    const signIn = await opened(browser, {}, `${consoleUrl}/sign-in`, SIGN_IN);
    await signIn.page.context().close();
    const users = await opened(browser, { storageState }, usersUrl, ROWS);
    const nextPage = await toNextPage(users.page);
    await users.page.context().close();
    // The first round warms the server up.
    if (round === 0) continue;
    times.signIn.push(signIn.ms);
    times.users.push(users.ms);
    times.nextPage.push(nextPage);
  }
  return Object.fromEntries(Object.entries(times).map(([name, each]) => [name, median(each) / 1_000]));
}

/** Opens an address in a fresh browser profile. @returns when the first element of the selector had been drawn */
async function opened(browser, options, url, selector) {
  const context = await browser.newContext({ locale: 'en-GB', ...options });
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  await session.send('Emulation.setCPUThrottlingRate', { rate: SLOWDOWN });
  await page.addInitScript((awaited) => {
    globalThis.drawn = new Promise((resolve) => {
      const look = () => {
        if (document.querySelector(awaited) === null) requestAnimationFrame(look);
        else requestAnimationFrame(() => setTimeout(() => resolve(performance.now())));
      };
      requestAnimationFrame(look);
    });
  }, selector);
  await page.goto(url, { waitUntil: 'commit' });
  return { page, ms: await page.evaluate(() => globalThis.drawn) };
}

/** @returns the time from a click on "Next page" until other rows have been drawn */
async function toNextPage(page) {
  // Whatever the page does once it is drawn has ended.
  await page.waitForTimeout(1_500);
  const next = page.getByRole('link', { name: /next/i });
  await next.hover();
  await page.waitForTimeout(300);
  return page.evaluate(
    () =>
      new Promise((resolve) => {
        const first = () => document.querySelector('tbody.rows tr')?.textContent;
        const before = first();
        const link = [...document.querySelectorAll('a')].find((each) => /next/i.test(each.textContent));
        const begun = performance.now();
        const look = () => {
          if (first() === before) requestAnimationFrame(look);
          else requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - begun)));
        };
        link.click();
        requestAnimationFrame(look);
      }),
  );
}

export function printPageReport({ signIn, users, nextPage }) {
  process.stdout.write(
    [
      `console in a browser without a cache, with a processor slowed down ${SLOWDOWN} times, ${USERS} users, medians of ${ROUNDS}\n`,
      `sign-in usable after  ${signIn.toFixed(2)} s\n`,
      `users shown after     ${users.toFixed(2)} s\n`,
      `next page after       ${nextPage.toFixed(2)} s\n`,
    ].join(''),
  );
}
