import type { Page, Request, Route } from 'playwright-core';
import { expect } from 'vitest';

type Answer = Parameters<Route['fulfill']>[0];

export function refused(status: number, name: string): Answer {
  return { status, json: { code: status, error: 'refused by the test', name, requestId: 'r' } };
}

/** Holds the next such request. @returns what waits for it */
export async function hold(page: Page, isMeant: (request: Request) => boolean): Promise<() => Promise<Route>> {
  const held: Route[] = [];
  await page.route('**/api/**', (route) => {
    if (held.length > 0 || !isMeant(route.request())) return route.fallback();
    held.push(route);
    return undefined;
  });
  return async () => {
    await expect.poll(() => held.length, { timeout: 10_000 }).toBe(1);
    return held[0]!;
  };
}

export function isAsked(method: string, path: RegExp): (request: Request) => boolean {
  return (request) => request.method() === method && path.test(new URL(request.url()).pathname);
}

/** Answers requests in the place of the server. */
export async function answer(
  page: Page,
  isMeant: (request: Request) => boolean,
  answerOf: (request: Request) => Answer | undefined,
): Promise<void> {
  await page.route('**/api/**', (route) => {
    const given = isMeant(route.request()) ? answerOf(route.request()) : undefined;
    return given === undefined ? route.fallback() : route.fulfill(given);
  });
}

/** Has the page read again what it shows, as when the operator comes back to its tab. */
export async function comeBack(page: Page): Promise<void> {
  await page.evaluate("window.dispatchEvent(new Event('visibilitychange'))");
}
