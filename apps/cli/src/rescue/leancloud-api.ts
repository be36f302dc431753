import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { z } from 'zod';
import { ConcurrencyLimiter, quoted, type Secret, StartError } from '#bootstrap';
import { OutboundClient, OutboundError, outboundReason, type OutboundStream, withTimeLimit } from '#outbound';

/** The waits between them take about a minute, unless the server names longer ones. */
const ATTEMPTS = 8;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 60_000;
const LONGEST_RETRY_AFTER_MS = 300_000;
const TOO_MANY_REQUESTS = 429;
const SERVER_ERRORS = 500;
const UNAUTHORIZED = 401;
const NOT_OK = 300;
/** A page of 1,000 rows of at most 128 KB each. */
const MAX_ANSWER_BYTES = 256 * 1024 * 1024;
const MAX_ERROR_LENGTH = 300;
const MAX_REDIRECTS = 5;
const ARCHIVED = /archived/i;
/** Connections that the guard refused, and answers over a limit: a repetition changes nothing. */
const PERMANENT_REASONS = new Set(['INTERNAL_ADDRESS', 'ERR_INVALID_URL', 'UND_ERR_RES_EXCEEDED_MAX_SIZE']);

/** The message may be printed. */
export class RequestError extends StartError {
  constructor(
    message: string,
    readonly status?: number,
  ) {
    super(message);
  }
}

/** A repetition would fail likewise. */
export class FinalRequestError extends RequestError {}

/** Every other request would fail likewise: wrong key, wrong address, archived application. */
export class RefusedError extends FinalRequestError {}

interface Answer {
  readonly status: number;
  readonly text: string;
}

interface ApiOptions {
  readonly baseUrl: string;
  readonly appId: string;
  readonly masterKey: Secret;
  readonly internalNetworks: readonly string[];
  readonly concurrency: number;
  readonly timeoutMs: number;
  /** Aborted where the operator ends the command, or nothing more can be stored. */
  readonly interruption: AbortController;
  readonly onWait: (line: string) => void;
}

/** LeanCloud's REST API. The master key goes to `baseUrl` only, so redirects are not followed. 429, 5xx and network errors are repeated. */
export class LeanCloudApi {
  readonly #client: OutboundClient;
  readonly #turns: ConcurrencyLimiter;
  #resumesAtMs = 0;

  constructor(private readonly options: ApiOptions) {
    const { internalNetworks, timeoutMs, concurrency } = options;
    this.#client = new OutboundClient({
      internalNetworks,
      timeoutMs,
      maxAnswerBytes: -1,
      maxConnections: concurrency + 1,
    });
    this.#turns = new ConcurrencyLimiter({ concurrency });
  }

  get signal(): AbortSignal {
    return this.options.interruption.signal;
  }

  interrupt(): void {
    this.options.interruption.abort();
  }

  /** @param path below `/1.1/`, encoded. @throws RequestError */
  get(path: string, query: Readonly<Record<string, string>> = {}): Promise<string> {
    const search = new URLSearchParams(query).toString();
    return this.#send('GET', search === '' ? path : `${path}?${search}`);
  }

  post(path: string, body: object): Promise<string> {
    return this.#send('POST', path, JSON.stringify(body));
  }

  inTurn<T>(work: () => Promise<T>): Promise<T> {
    return this.#turns.run(work);
  }

  /** Opens a public URL without the key, over at most five redirects. @throws RequestError without the URL: the link of an export is a credential */
  async open(url: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<OutboundStream> {
    let target = httpUrl(url);
    for (let hops = 0; hops <= MAX_REDIRECTS; hops += 1) {
      const answer = await this.#client
        .open(target, { method: 'GET', headers: { accept: '*/*', ...headers } }, signal)
        .catch((error: unknown) => {
          throw connectionError(error, reasonOf(error));
        });
      const { location } = answer.headers;
      if (answer.status < NOT_OK || answer.status >= 400 || typeof location !== 'string') return answer;
      answer.body.on('error', () => undefined).destroy();
      target = httpUrl(location, target);
    }
    throw new FinalRequestError(`more than ${MAX_REDIRECTS} redirects`);
  }

  async repeat<T>(work: () => Promise<T>, attempts = ATTEMPTS): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      await sleep(Math.max(0, this.#resumesAtMs - performance.now()), undefined, { signal: this.signal });
      const result = await work().then(
        (value) => ({ value }),
        (error: unknown) => {
          this.signal.throwIfAborted();
          if (!isPassing(error) || attempt >= attempts) throw error;
          return undefined;
        },
      );
      if (result !== undefined) return result.value;
      // A wait that the server has named replaces the back-off.
      if (this.#resumesAtMs < performance.now()) await sleep(backOffMs(attempt), undefined, { signal: this.signal });
    }
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  async #send(method: 'GET' | 'POST', path: string, body?: string): Promise<string> {
    const shown = `${method} /1.1/${path.split('?')[0] ?? ''}`;
    const { text } = await this.#turns.run(() => this.repeat(() => this.#attempt(method, path, { shown, body })));
    return text;
  }

  async #attempt(
    method: 'GET' | 'POST',
    path: string,
    { shown, body }: { shown: string; body: string | undefined },
  ): Promise<Answer> {
    const { baseUrl, appId, masterKey, timeoutMs } = this.options;
    const headers = {
      'X-LC-Id': appId,
      'X-LC-Key': `${masterKey.reveal()},master`,
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    };
    // A page may take several times as long as the first byte.
    const limit = withTimeLimit(this.signal, 4 * timeoutMs);
    try {
      const url = new URL(`${baseUrl}/1.1/${path}`);
      const request = { method, headers, ...(body === undefined ? {} : { body }) };
      const answer = await this.#client.open(url, request, limit);
      const text = await textOf(answer.body);
      if (answer.status >= NOT_OK) throw this.#refusal(answer, text, shown);
      return { status: answer.status, text };
    } catch (error) {
      if (error instanceof RequestError) throw error;
      const reason = limit.aborted ? `no complete answer within ${4 * timeoutMs} ms` : reasonOf(error);
      throw connectionError(error, `${shown}: ${reason}`);
    }
  }

  #refusal({ status, headers }: OutboundStream, text: string, shown: string): RequestError {
    const message = `${shown}: LeanCloud answered ${status} ${this.#errorOf(text)}`;
    if (status >= NOT_OK && status < 400)
      return new RefusedError(`${message}: --url leads to another address. Give the API domain itself.`, status);
    if (ARCHIVED.test(text))
      return new RefusedError(`${message}. Restore the application in LeanCloud's console, and run again.`, status);
    if (status === UNAUTHORIZED)
      return new RefusedError(
        `${message}. Check --id, and that the file holds the master key (not the app key) of this application.`,
        status,
      );
    const waitMs = retryAfterMs(headers['retry-after']);
    if (waitMs !== undefined && isPassingStatus(status)) {
      this.#resumesAtMs = Math.max(this.#resumesAtMs, performance.now() + waitMs);
      this.options.onWait(`LeanCloud asks to wait ${Math.ceil(waitMs / 1_000)} s (${status}).`);
    }
    return new RequestError(message, status);
  }

  /** A server that echoes the key must not bring it into a log. */
  #errorOf(text: string): string {
    const fallback = text.slice(0, MAX_ERROR_LENGTH);
    let error: unknown = fallback;
    try {
      error = (JSON.parse(text) as { error?: unknown } | null)?.error ?? fallback;
    } catch {
      // Not JSON.
    }
    const shown = typeof error === 'string' ? error : fallback;
    return quoted(shown.replaceAll(this.options.masterKey.reveal(), '…').slice(0, MAX_ERROR_LENGTH));
  }
}

/** Doubles after each attempt, with jitter against simultaneous retries. */
function backOffMs(attempt: number): number {
  const spread = 0.5 + Math.random() / 2;
  return Math.min(FIRST_WAIT_MS * 2 ** Math.max(0, attempt - 1), LONGEST_WAIT_MS) * spread;
}

function isPassing(error: unknown): boolean {
  if (!(error instanceof RequestError) || error instanceof FinalRequestError) return false;
  return error.status === undefined || isPassingStatus(error.status);
}

export function isPassingStatus(status: number): boolean {
  return status === TOO_MANY_REQUESTS || status >= SERVER_ERRORS;
}

/** @returns at most five minutes; undefined without the header. Source: RFC 9110, 10.2.3 */
function retryAfterMs(header: string | string[] | undefined): number | undefined {
  if (typeof header !== 'string') return undefined;
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), LONGEST_RETRY_AFTER_MS);
}

/** @throws RequestError, without the URL, if its protocol is not HTTP */
function httpUrl(text: string, base?: URL): URL {
  const url = URL.canParse(text, base?.href) ? new URL(text, base?.href) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '')
    throw new FinalRequestError('the address is no http or https URL');
  return url;
}

function connectionError(error: unknown, message: string): RequestError {
  const isPermanent = PERMANENT_REASONS.has(outboundReason(error));
  return isPermanent ? new FinalRequestError(message) : new RequestError(message);
}

export function reasonOf(error: unknown): string {
  const reason = outboundReason(error);
  if (reason === 'INTERNAL_ADDRESS')
    return 'the address is in an internal network; --allow-internal permits networks by name';
  return error instanceof OutboundError || error instanceof Error ? `no answer (${reason})` : 'no answer';
}

async function textOf(body: Readable): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of body as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > MAX_ANSWER_BYTES) throw new FinalRequestError(`the answer exceeds ${MAX_ANSWER_BYTES} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

export function parsed<T>(schema: z.ZodType<T>, text: string, name: string): T {
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    throw new RequestError(`LeanCloud's answer is not ${name}`);
  }
}
