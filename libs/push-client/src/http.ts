import type { Fetch } from './environment.types.js';

const TIMEOUT_MS = 15_000;

/** The server answered, and not well. */
export class RefusedRequest extends Error {
  override readonly name = 'RefusedRequest';

  constructor(
    what: string,
    readonly status: number,
    /** What its header `Retry-After` says. */
    readonly retryAfterMs: number | undefined,
    /** The API's own code and text, where it sent them. */
    readonly body: unknown,
  ) {
    super(`${what} was answered with status ${status}`);
  }

  /** The same request will be refused again. */
  get isFinal(): boolean {
    return this.status >= 400 && this.status < 500 && this.status !== 408 && this.status !== 429;
  }
}

export interface JsonRequest {
  /** For errors. */
  readonly what: string;
  readonly url: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
}

/** @throws RefusedRequest, or what `fetch` throws where there is no answer within 15 seconds */
export async function requestJson(fetch: Fetch, request: JsonRequest, signal: AbortSignal): Promise<unknown> {
  const { what, url, method = 'GET', headers = {}, body } = request;
  const response = await fetch(url, {
    method,
    headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
  });
  const answer = await response.json().catch(() => undefined);
  if (!response.ok)
    throw new RefusedRequest(what, response.status, secondsOf(response.headers.get('retry-after')), answer);
  return answer;
}

function secondsOf(header: string | null): number | undefined {
  return header !== null && /^\d+$/.test(header) ? Number(header) * 1_000 : undefined;
}
