import type { Fetch } from './push-client.types.js';

const TIMEOUT_MS = 15_000;

/** The server responded with an error status. */
export class RefusedRequest extends Error {
  override readonly name = 'RefusedRequest';

  constructor(
    what: string,
    readonly status: number,
    /** The value of the header `Retry-After`. */
    readonly retryAfterMs: number | undefined,
    /** The code and text of the API, where the response has them. */
    readonly body: unknown,
  ) {
    super(`${what} failed with status ${status}`);
  }

  /** The server will refuse the same request again. */
  get isFinal(): boolean {
    return this.status >= 400 && this.status < 500 && this.status !== 408 && this.status !== 429;
  }
}

interface JsonRequest {
  readonly what: string;
  readonly url: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
}

/** @throws RefusedRequest, or the error of `fetch`, also where no response arrives within 15 seconds */
export async function requestJson(fetch: Fetch, request: JsonRequest, signal: AbortSignal): Promise<unknown> {
  signal.throwIfAborted();
  // Browsers before 2024 have no AbortSignal.any.
  const limited = new AbortController();
  const abort = () => {
    limited.abort(signal.reason);
  };
  const timer = setTimeout(() => {
    limited.abort(new Error(`${request.what} got no response within ${TIMEOUT_MS / 1_000} seconds`));
  }, TIMEOUT_MS);
  signal.addEventListener('abort', abort);
  try {
    return await answerTo(fetch, request, limited.signal);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  }
}

/** The result of work that goes on after the signal. @throws the reason of the signal */
export async function unlessAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const abort = () => {
      reject(errorOf(signal.reason));
    };
    signal.addEventListener('abort', abort, { once: true });
    void work.then(resolve, reject).finally(() => {
      signal.removeEventListener('abort', abort);
    });
  });
}

async function answerTo(fetch: Fetch, request: JsonRequest, signal: AbortSignal): Promise<unknown> {
  const { what, url, method = 'GET', headers = {}, body } = request;
  const response = await fetch(url, {
    method,
    headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal,
  });
  const answer = await response.json().catch(() => undefined);
  if (response.ok) return answer;
  const [seconds] = /^\d+$/.exec(response.headers.get('retry-after') ?? '') ?? [];
  throw new RefusedRequest(what, response.status, seconds === undefined ? undefined : Number(seconds) * 1_000, answer);
}

/** The error itself, or one with the text of what was thrown instead. */
export function errorOf(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

interface RouterOptions {
  readonly appId: string;
  readonly server: string;
  readonly url: string | undefined;
  readonly fetch: Fetch;
  readonly onError: (error: Error) => void;
}

/** Provides the connector's URL: the configured one, or those that the server returns, for as long as they are valid. */
export class Router {
  #urls: readonly string[] = [];
  #validUntil = 0;
  #failures = 0;

  constructor(private readonly options: RouterOptions) {}

  /** The URLs are used in turn; once all have failed, the server is asked again. Where that fails, too, they stay in use. */
  async next(installationId: string, signal: AbortSignal): Promise<string> {
    if (this.options.url) return this.options.url;
    const isOutworn = Date.now() >= this.#validUntil || this.#failures >= this.#urls.length;
    if (isOutworn)
      await this.#ask(installationId, signal).catch((error: unknown) => {
        const requestsPause = error instanceof RefusedRequest && error.retryAfterMs !== undefined;
        if (this.#urls.length === 0 || requestsPause || signal.aborted) throw error;
        this.options.onError(errorOf(error));
      });
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
    const answer = await requestJson(fetch, { what: 'the request for a connector', url }, signal);
    const route = (answer ?? {}) as Readonly<Record<string, unknown>>;
    const named = [route['server'], route['secondary']].filter((name) => typeof name === 'string' && name !== '');
    if (named.length === 0) throw new Error('the server returned no connector');
    this.#urls = [...new Set(named)] as string[];
    this.#failures = 0;
    this.#validUntil = Date.now() + (typeof route['ttl'] === 'number' ? route['ttl'] : 0) * 1_000;
  }
}
