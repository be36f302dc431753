import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, describe, expect, it } from 'vitest';
import { accessibilityProblems, type useBrowser, type Visit } from '#testing';

/** A folder for the pictures of README.md and docs/console.md; none are taken without it. */
const PICTURES = process.env['CONSOLE_PICTURES'];

const PAGES = [
  'overview',
  'users',
  // The condition {"level":3}.
  'users?where=%22%7B%5C%22level%5C%22%3A3%7D%22',
  'limits',
  'settings',
  'settings?tab=keys',
  'permissions',
  'roles',
  'devices',
  'pushes',
  'pushes/new',
  'messages',
  'templates',
];
const LOOKS = [
  {
    locale: 'en-GB',
    looks: [
      ['light', 1280],
      ['dark', 1920],
    ],
  },
  {
    locale: 'zh-CN',
    looks: [
      ['light', 390],
      ['dark', 320],
    ],
  },
] as const;

interface Console {
  readonly visit: (options: Parameters<ReturnType<typeof useBrowser>>[0]) => Promise<Visit>;
  readonly origin: () => string;
  readonly ofApp: (path: string) => string;
  readonly operator: { readonly address: string; readonly password: string };
}

/** Every page in both languages, themes and four widths, once an operator exists. */
export function consoleLooks({ visit, origin, ofApp, operator }: Console): void {
  describe.each(LOOKS)('the pages in $locale', ({ locale, looks }) => {
    async function expectLooks(page: Page, name: string): Promise<void> {
      for (const [colorScheme, width] of looks) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: 900 });
        await expectAccessible(page, `${name}, ${colorScheme}, ${width} px wide`);
        await picture(page, `${name.split(/[/?=]/).at(-1) ?? ''}-${width}-${colorScheme}`);
      }
    }

    let page: Page;
    afterAll(() => page.context().close());
    const title = 'are accessible in both themes, and need no second scroll bar';

    it(`${title}: sign-in`, async () => {
      ({ page } = await visit({ locale, reducedMotion: 'reduce' }));
      await page.goto(`${origin()}/sign-in`);
      await expectLooks(page, 'sign-in');
      await page.locator('input[type=email]').fill(operator.address);
      await page.locator('input[type=password]').fill(operator.password);
      await page.locator('button[type=submit]').click();
      await page.waitForURL(/\/apps\//);
    });

    it.each([...PAGES, '/apps', '/health', '/audit', '/operators', '/profile'])(`${title}: %s`, async (path) => {
      await page.goto(path.startsWith('/') ? `${origin()}${path}` : ofApp(path));
      await page.locator('nav').first().waitFor({ state: 'attached' });
      await expectLooks(page, path);
    });

    it(`${title}: a push by a condition`, async () => {
      await page.goto(ofApp('pushes/new'));
      await page.locator('.segments input').nth(2).check();
      await expectLooks(page, 'a push by a condition');
    });
  });
}

async function expectAccessible(page: Page, name: string): Promise<void> {
  await page.getByRole('heading', { level: 1 }).waitFor();
  await expect.poll(() => page.locator('.mantine-Skeleton-root').count(), { message: name }).toBe(0);
  expect(await accessibilityProblems(page), name).toEqual([]);
}

async function picture(page: Page, name: string): Promise<void> {
  if (PICTURES !== undefined) await page.screenshot({ path: join(PICTURES, `${name}.png`) });
}
