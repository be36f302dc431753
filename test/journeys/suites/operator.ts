import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { freePorts, gatepost, type GatepostServer, startServices, startStandalone, useBrowser, Visit } from '#testing';
import { LoadBalancer } from '../../load/load-balancer.js';

export const PASSWORD = 'four words are enough';
export const OWNER = { name: 'Ada Lovelace', address: 'ada@example.com' };
/** Longer than the page takes to ask again. */
const LIVE_MS = 10_000;

type Environment = Readonly<Record<string, string>>;
type VisitOptions = Parameters<ReturnType<typeof useBrowser>>[0];

/** A Gatepost with the address of its console. */
export interface ServerWithConsole extends GatepostServer {
  readonly consoleUrl: string;
}

/** One process. */
export async function startOneProcess(env: Environment): Promise<ServerWithConsole> {
  const port = String(await freePorts(1));
  const server = await startStandalone({ GATEPOST_CONSOLE_PORT: port, ...env });
  return { ...server, consoleUrl: `http://localhost:${port}` };
}

/** Services; requests to the console go in turn to two processes of it. */
export async function startServicesWithConsoles(env: Environment): Promise<ServerWithConsole> {
  const balancer = await LoadBalancer.start();
  const consoleUrl = `http://localhost:${balancer.port}`;
  const counts = { gateway: 1, accounts: 1, 'auth-linking': 1, mail: 1, 'push-delivery': 1, console: 2 };
  const server = await startServices(counts, {
    GATEPOST_CONSOLE_PORT: String(await freePorts(2)),
    GATEPOST_CONSOLE_URL: consoleUrl,
    ...env,
  });
  for (const { service, port } of server.processes) if (service === 'console') balancer.add(port);
  const stop = async () => {
    await balancer.stop();
    await server.stop();
  };
  return { ...server, consoleUrl, stop };
}

/** A browser in which the owner of the console is signed in. */
export class OperatorBrowser {
  readonly visits: Visit[] = [];
  #profile: BrowserContext | undefined;

  constructor(
    private readonly begin: ReturnType<typeof useBrowser>,
    private readonly server: () => ServerWithConsole,
  ) {}

  /** Creates the owner by the link of the command line. */
  async setUp(): Promise<void> {
    const { stdout } = await gatepost(this.server(), 'console', 'link');
    const page = await this.visit({ locale: 'en-GB' });
    await page.goto(/http\S+/.exec(stdout)?.[0] ?? '');
    await page.getByLabel('Name').fill(OWNER.name);
    await page.getByLabel('E-mail address').fill(OWNER.address);
    await page.getByLabel('New password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Create the owner' }).click();
    await page.getByRole('navigation', { name: 'Pages' }).waitFor();
    this.#profile = page.context();
  }

  /** A visit without a session, and without transitions, for whose end a click would wait. */
  async visit(options: VisitOptions): Promise<Page> {
    return this.#kept(await this.begin({ reducedMotion: 'reduce', ...options }));
  }

  /** A tab of the owner's browser: its tabs share cookies, cache and storage. */
  async open(path: string): Promise<Page> {
    return this.#goTo(path, this.#kept(new Visit(await this.#signedIn.newPage())));
  }

  /** The owner in a browser of its own, which a test prepares and changes as it likes. */
  async openElsewhere(
    path: string,
    options: VisitOptions = {},
    prepare?: (page: Page) => Promise<void>,
  ): Promise<Page> {
    const storageState = await this.#signedIn.storageState();
    const page = await this.visit({ locale: 'en-GB', storageState, ...options });
    await prepare?.(page);
    return this.#goTo(path, page);
  }

  /** @param path a page of the application; with a slash in front, of the deployment */
  urlOf(path: string): string {
    const { consoleUrl, app } = this.server();
    return path.startsWith('/') ? `${consoleUrl}${path}` : `${consoleUrl}/apps/${app.id}/${path}`;
  }

  /** Errors in the consoles of the browsers. Requests that a change of the page has ended are none. */
  get complaints(): string[] {
    return this.visits.flatMap(({ complaints }) => complaints.filter((each) => !each.includes('net::ERR_ABORTED')));
  }

  get #signedIn(): BrowserContext {
    if (this.#profile === undefined) throw new Error('setUp comes first');
    return this.#profile;
  }

  #kept(visit: Visit): Page {
    this.visits.push(visit);
    visit.page.setDefaultTimeout(LIVE_MS);
    return visit.page;
  }

  async #goTo(path: string, page: Page): Promise<Page> {
    await page.goto(this.urlOf(path));
    return page;
  }
}

/** @returns the operator's browser of a suite, once its owner is there */
export function useOperator(server: () => ServerWithConsole): () => OperatorBrowser {
  const begin = useBrowser();
  let operator: OperatorBrowser | undefined;
  beforeAll(async () => {
    operator = new OperatorBrowser(begin, server);
    await operator.setUp();
  });
  afterAll(() => {
    expect(operator?.complaints ?? []).toEqual([]);
  });
  return () => {
    if (operator === undefined) throw new Error('the operator is there once the tests run');
    return operator;
  };
}

/** Pages of the operator. After each test they are closed, with all pages that share their session. */
export interface OperatorPages {
  /** Opens a page of the signed-in browser. */
  readonly open: (path: string) => Promise<Page>;
  /** Opens a page whose clock the test moves. */
  readonly openWithClock: (path: string) => Promise<Page>;
  /** Signs in to a session of its own, which a test may end. */
  readonly signedIn: () => Promise<Page>;
}

export function useOperatorPages(operator: () => OperatorBrowser): OperatorPages {
  const pages: Page[] = [];
  // A request that a test still holds is not one of the next test.
  afterEach(async () => {
    const opened = pages.splice(0).flatMap((page) => page.context().pages());
    await Promise.all([...new Set(opened)].map((page) => page.close()));
  });
  const kept = (page: Page) => {
    pages.push(page);
    return page;
  };
  return {
    // A tab behind another one draws once a second.
    open: async (path) => kept(await (pages.length === 0 ? operator().open(path) : operator().openElsewhere(path))),
    openWithClock: async (path) => kept(await operator().openElsewhere(path, {}, (page) => page.clock.install())),
    signedIn: async () => {
      const page = kept(await operator().visit({ locale: 'en-GB' }));
      await page.goto(operator().urlOf('/sign-in'));
      await page.getByLabel('E-mail address').fill(OWNER.address);
      await page.getByLabel('Password', { exact: true }).fill(PASSWORD);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('navigation', { name: 'Pages' }).waitFor();
      return page;
    },
  };
}
