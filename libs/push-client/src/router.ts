import type { Fetch } from './environment.types.js';
import { requestJson } from './http.js';

/** Where devices connect: the application's own URL, or what the server names, for as long as it says. */
export class Router {
  #urls: readonly string[] = [];
  #validUntil = 0;
  #failures = 0;

  constructor(private readonly options: { appId: string; server: string; url: string | undefined; fetch: Fetch }) {}

  /** The URL for the next attempt: servers in turn, and asked for anew once all of them have failed. */
  async next(installationId: string, signal: AbortSignal): Promise<string> {
    if (this.options.url) return this.options.url;
    const isOutworn = Date.now() >= this.#validUntil || this.#failures >= this.#urls.length;
    if (isOutworn) await this.#ask(installationId, signal);
    return this.#urls[this.#failures % this.#urls.length] ?? '';
  }

  failed(): void {
    this.#failures += 1;
  }

  worked(): void {
    this.#failures = 0;
  }

  async #ask(installationId: string, signal: AbortSignal): Promise<void> {
    const { appId, server, fetch } = this.options;
    const query = new URLSearchParams({ appId, installationId });
    if (server.startsWith('https:')) query.set('secure', '1');
    const url = `${server}/v1/route?${query.toString()}`;
    const route = (await requestJson(fetch, { what: 'the question for a connector', url }, signal)) as {
      server?: unknown;
      secondary?: unknown;
      ttl?: unknown;
    } | null;
    const named = [route?.server, route?.secondary].filter((name) => typeof name === 'string' && name !== '');
    if (named.length === 0) throw new Error('the server names no connector');
    this.#urls = [...new Set(named)] as string[];
    this.#failures = 0;
    this.#validUntil = Date.now() + (typeof route?.ttl === 'number' ? route.ttl : 0) * 1_000;
  }
}
