import type { Fetch } from './environment.types.js';
import { requestJson } from './http.js';
import type { RegistrationOptions } from './push-client.types.js';

/** Pushes go to installations that were saved within the last 90 days. */
const RENEW_AFTER_MS = 24 * 3_600_000;

/** This device's row in the class `_Installation`. */
export class Registration {
  #fields: Readonly<Record<string, unknown>>;
  #renewAt = 0;

  constructor(private readonly options: RegistrationOptions & { appId: string; server: string; fetch: Fetch }) {
    this.#fields = options.fields ?? {};
  }

  /** Changes what the next registration says. */
  change(fields: Readonly<Record<string, unknown>>): void {
    this.#fields = { ...this.#fields, ...fields };
    this.#renewAt = 0;
  }

  /** Saves the installation, if the last time is a day ago or something else is to be said. */
  async ensure(installationId: string, signal: AbortSignal): Promise<void> {
    if (Date.now() < this.#renewAt) return;
    const { appId, appKey, server, fetch } = this.options;
    const sent = this.#fields;
    const request = {
      what: 'the registration of the installation',
      url: `${server}/1.1/installations`,
      method: 'POST',
      headers: { 'x-lc-id': appId, 'x-lc-key': appKey },
      body: { deviceType: 'web', ...sent, installationId },
    };
    await requestJson(fetch, request, signal);
    // What was changed meanwhile still has to be said.
    if (sent === this.#fields) this.#renewAt = Date.now() + RENEW_AFTER_MS;
  }
}
