/* global document, requestAnimationFrame -- functions that run in the page */
// The pages of the console in a browser on a slow processor: how soon one can sign in, sees users, and sees the next page of them; and
// an export of all users.
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { get } from 'node:http';
import { promisify } from 'node:util';
import pg from 'pg';
import { chromium } from 'playwright-core';
import { ROOT } from '../../tools/prepare.mjs';
import { installedPrograms } from '../../tools/test/installed-programs.mjs';
import { APP, freePort, newBenchRun, ready } from '../bench-run.mjs';
import { median } from '../load.mjs';
import { peakKbDuring, residentKb } from '../process-usage.mjs';
import { embeddedDatabaseUrl } from '../seed.mjs';
import { seedNames } from './measure-console.mjs';

const SLOWDOWN = 4;
const PASSWORD = 'four words are enough';
const ROUNDS = 9;
const SIGN_IN = 'input[type=email]';
const ROWS = 'tbody.rows tr:nth-child(50)';

/**
 * @param count the number of users
 * @returns medians in seconds, of a browser without a cache whose processor is slowed down; and the export's seconds and memory
 */
export async function measurePages(count) {
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
    const server = run.launch('dist/apps/standalone/src/main.js', env);
    await ready(port);
    await addUsers(embeddedDatabaseUrl(run.folder), count);
    const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
    const browser = await chromium.launch({ executablePath: installedPrograms.browser().path, args });
    try {
      const { times, cookies } = await measureIn(browser, consoleUrl, await linkOf(env));
      return { count, ...times, export: await measureExport(server, consoleUrl, cookies) };
    } finally {
      await browser.close();
    }
  } finally {
    await run.stop();
  }
}

async function addUsers(databaseUrl, count) {
  const database = new pg.Client({ connectionString: databaseUrl });
  await database.connect();
  process.stderr.write(`console-page: adds ${count} users\n`);
  await seedNames(database, count).finally(() => database.end());
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
  const { cookies } = storageState;
  return {
    times: Object.fromEntries(Object.entries(times).map(([name, each]) => [name, median(each) / 1_000])),
    cookies: cookies.map(({ name, value }) => `${name}=${value}`).join('; '),
  };
}

/** Reads all users as a file. `addedMb`: the most memory that the server takes more than before. */
async function measureExport(server, consoleUrl, cookies) {
  const before = residentKb(server);
  const begun = performance.now();
  let bytes = 0;
  const peak = await peakKbDuring(server, async () => {
    const request = get(`${consoleUrl}/api/apps/${APP.GATEPOST_APP_ID}/users/export?format=csv`, {
      headers: { cookie: cookies, 'sec-fetch-site': 'same-origin' },
    });
    const [response] = await once(request, 'response');
    if (response.statusCode !== 200) throw new Error(`the export was answered ${response.statusCode}`);
    for await (const chunk of response) bytes += chunk.length;
  });
  return { seconds: (performance.now() - begun) / 1_000, bytes, addedMb: (peak - before) / 1_024 };
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

export function printPageReport({ count, signIn, users, nextPage, export: { seconds, bytes, addedMb } }) {
  process.stdout.write(
    [
      `console in a browser without a cache, with a processor slowed down ${SLOWDOWN} times, ${count} users, medians of ${ROUNDS}\n`,
      `sign-in usable after  ${signIn.toFixed(2)} s\n`,
      `users shown after     ${users.toFixed(2)} s\n`,
      `next page after       ${nextPage.toFixed(2)} s\n`,
      `export of all users   ${seconds.toFixed(1)} s, ${(bytes / 1e6).toFixed(0)} MB, ${addedMb.toFixed(0)} MB of memory more at most\n`,
    ].join(''),
  );
}
