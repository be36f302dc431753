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
];
/** How Chromium notes that a page was answered with an error; the page says it better. */
const ANSWERED_WITH_ERROR = /^Failed to load resource: the server responded with a status of [45]\d\d/;

/** A visit with a fresh browser profile: no cookies, no cache, and a record of the browser's requests and errors. */
export class Visit {
  readonly requests: Request[] = [];
  /** Errors that the browser reported: scripts, policies, failed loads. */
  readonly complaints: string[] = [];

  private constructor(readonly page: Page) {
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

  static async begin(browser: Browser, options: BrowserContextOptions): Promise<Visit> {
    const context = await browser.newContext(options);
    return new Visit(await context.newPage());
  }
}

/** A browser for the tests of a suite. @returns what begins a visit */
export function useBrowser(): (options?: BrowserContextOptions) => Promise<Visit> {
  let browser: Browser | undefined;
  beforeAll(async () => {
    // Chromium's sandbox refuses root.
    const args = process.getuid?.() === 0 ? [...QUIET, '--no-sandbox'] : QUIET;
    browser = await chromium.launch({ executablePath: browserProgram(), args });
  });
  afterAll(() => browser?.close());
  return (options = {}) => {
    if (browser === undefined) throw new Error('the browser is there once the tests run');
    return Visit.begin(browser, options);
  };
}
