import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContextOptions, chromium, type Page, type Request } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';
import { browserProgram } from './test-run.js';

/** Keeps it from asking the world for what no test needs. */
const QUIET = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-gpu',
  '--disable-quic',
  '--disable-sync',
  '--no-first-run',
  // Chromium obeys the last list only: the first three are Playwright's, the others start renderers that no test sees.
  `--disable-features=${['HttpsUpgrades', 'PaintHolding', 'ThirdPartyStoragePartitioning', 'WebUIOmniboxPopup', 'WebUIOmniboxAimPopup', 'SpareRendererForSitePerProcess'].join()}`,
];
/** How Chromium notes that a page was answered with an error; the page says it better. */
const ANSWERED_WITH_ERROR = /^Failed to load resource: the server responded with a status of [45]\d\d/;

/** A page, with a record of the browser's requests and errors. */
export class Visit {
  readonly requests: Request[] = [];
  /** Errors that the browser reported: scripts, policies, failed loads. */
  readonly complaints: string[] = [];

  constructor(readonly page: Page) {
    page.on('console', (message) => {
      const isComplaint = message.type() === 'error' || message.type() === 'warning';
      if (isComplaint && !ANSWERED_WITH_ERROR.test(message.text())) this.complaints.push(message.text());
    });
    page.on('pageerror', (error) => this.complaints.push(error.message));
    page.on('requestfailed', (request) =>
      this.complaints.push(`${request.url()}: ${request.failure()?.errorText ?? ''}`),
    );
    page.on('request', (request) => this.requests.push(request));
  }
}

/** A browser for the tests of a suite. @returns what begins a visit with a fresh profile: no cookies, no cache */
export function useBrowser(): (options?: BrowserContextOptions) => Promise<Visit> {
  let browser: Browser | undefined;
  beforeAll(async () => {
    // Chromium's sandbox refuses root.
    const args = process.getuid?.() === 0 ? [...QUIET, '--no-sandbox'] : QUIET;
    browser = await chromium.launch({ executablePath: browserProgram(), args });
  });
  afterAll(() => browser?.close());
  return async (options = {}) => {
    if (browser === undefined) throw new Error('the browser is there once the tests run');
    const profile = await browser.newContext(options);
    return new Visit(await profile.newPage());
  };
}

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const WCAG = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** Violations of WCAG 2.2 A and AA that axe finds on the page, and the width by which it is too wide for its window. */
export async function accessibilityProblems(page: Page): Promise<string[]> {
  await page.evaluate(readFileSync(AXE, 'utf8'));
  return page.evaluate(async (tags) => {
    const { axe, document, innerWidth } = globalThis as unknown as AxePage;
    const { violations } = await axe.run(document, { runOnly: tags });
    const tooWide = document.documentElement.scrollWidth - innerWidth;
    return [
      ...violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).join(', ')}`),
      ...(tooWide > 0 ? [`${tooWide} px too wide`] : []),
    ];
  }, WCAG);
}

interface Findings {
  readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly target: string[] }[] }[];
}

/** Globals of the browser; the tests are compiled without its types. */
interface AxePage {
  readonly axe: { readonly run: (node: unknown, options: object) => Promise<Findings> };
  readonly document: { readonly documentElement: { readonly scrollWidth: number } };
  readonly innerWidth: number;
}
