import type { Readable } from 'node:stream';
import { Agent } from 'undici';
import { guardedConnector, NetworkGuard } from './outbound-client.js';

const CONNECT_TIMEOUT_MS = 10_000;
/** Codes of a server that answers, but not in the form of HTTP. */
const UNUSABLE = /^(?:HPE_|HTTPParserError$|UND_ERR_HEADERS_OVERFLOW$|UND_ERR_(?:REQ|RES)_CONTENT_LENGTH_MISMATCH$)/;

interface OutboundStreamsOptions {
  readonly internalNetworks: readonly string[];
  readonly answerTimeoutMs: number;
  /** Maximum time between two pieces of an answer. */
  readonly idleTimeoutMs: number;
  readonly totalTimeoutMs: number;
  readonly maxAnswerBytes: number;
  /** Connections per server, and requests in progress: further requests are refused. */
  readonly maxConnections: number;
}

interface StreamedRequest {
  readonly method: string;
  /** Path with an optional query. It is sent as it is. */
  readonly path: string;
  /** Names and values by turns. */
  readonly headers: readonly string[];
  /** Read as fast as the server reads it. An error that it throws ends the request. */
  readonly body?: AsyncIterable<Uint8Array> | undefined;
  readonly signal: AbortSignal;
}

/** An answer that has begun. Redirects are returned, not followed. The caller reads or destroys the body. */
export interface StreamedAnswer {
  readonly status: number;
  /** Names, which may be in upper case, and values by turns, in the order of the answer; each character is one byte. */
  readonly headers: readonly string[];
  /** Undecoded. It fails where the connection breaks, pauses for too long, or the answer is too large. */
  readonly body: Readable;
}

/** The reason why no answer arrived: `unusable` answers are not HTTP, or do not fit the limits. */
type Failure = 'busy' | 'timeout' | 'unreachable' | 'unusable';

export class OutboundStreamError extends Error {
  constructor(
    readonly failure: Failure,
    code: string,
    cause?: unknown,
  ) {
    super(code, { cause });
  }
}

/** Streams requests and answers: never to internal networks, within limits, without retries, redirects and decompression. */
export class OutboundStreams {
  readonly #agent: Agent;
  readonly #running = new Map<string, number>();

  constructor(private readonly options: OutboundStreamsOptions) {
    const { internalNetworks, idleTimeoutMs, maxAnswerBytes, maxConnections } = options;
    this.#agent = new Agent({
      connect: guardedConnector(new NetworkGuard(internalNetworks), CONNECT_TIMEOUT_MS),
      connections: maxConnections,
      maxResponseSize: maxAnswerBytes,
      bodyTimeout: idleTimeoutMs,
      // The deadline of the answer is set below: that of undici does not run while a body is sent.
      headersTimeout: 0,
    });
  }

  /** @param origin scheme, host and port @throws OutboundStreamError */
  async send(origin: string, request: StreamedRequest): Promise<StreamedAnswer> {
    const running = this.#running.get(origin) ?? 0;
    if (running >= this.options.maxConnections) throw new OutboundStreamError('busy', 'too many requests in progress');
    this.#running.set(origin, running + 1);
    const deadlines = new Deadlines(request.signal, this.options);
    const end = () => {
      deadlines.end();
      this.#ended(origin);
    };
    try {
      const answer = await this.#request(origin, request, deadlines.signal);
      deadlines.answered();
      answer.body.once('close', end);
      return answer;
    } catch (error) {
      end();
      throw deadlines.hasPassed ? new OutboundStreamError('timeout', 'no answer in time') : asOutbound(error);
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  async #request(
    origin: string,
    { method, path, headers, body }: StreamedRequest,
    signal: AbortSignal,
  ): Promise<StreamedAnswer> {
    const answer = await this.#agent.request({
      origin,
      path,
      method,
      headers: [...headers],
      body: (body ?? null) as Readable | null,
      signal,
      responseHeaders: 'raw',
    });
    // With this option, undici returns a list.
    return { status: answer.statusCode, headers: answer.headers as unknown as string[], body: answer.body };
  }

  #ended(origin: string): void {
    const left = (this.#running.get(origin) ?? 1) - 1;
    if (left === 0) this.#running.delete(origin);
    else this.#running.set(origin, left);
  }
}

/** Ends a request when its caller does, when its answer does not begin in time, and when it takes too long. */
class Deadlines {
  readonly #controller = new AbortController();
  readonly #total: NodeJS.Timeout;
  readonly #answer: NodeJS.Timeout;
  readonly #abort = () => {
    this.#controller.abort();
  };
  hasPassed = false;

  constructor(
    private readonly outer: AbortSignal,
    { answerTimeoutMs, totalTimeoutMs }: Pick<OutboundStreamsOptions, 'answerTimeoutMs' | 'totalTimeoutMs'>,
  ) {
    const pass = () => {
      this.hasPassed = true;
      this.#abort();
    };
    this.#answer = setTimeout(pass, answerTimeoutMs);
    this.#total = setTimeout(pass, totalTimeoutMs);
    if (outer.aborted) this.#abort();
    else outer.addEventListener('abort', this.#abort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  answered(): void {
    clearTimeout(this.#answer);
  }

  end(): void {
    clearTimeout(this.#answer);
    clearTimeout(this.#total);
    this.outer.removeEventListener('abort', this.#abort);
  }
}

function asOutbound(error: unknown): OutboundStreamError {
  const { code, name } = error as { code?: unknown; name?: unknown };
  const text = String(code ?? name);
  return new OutboundStreamError(UNUSABLE.test(text) ? 'unusable' : 'unreachable', text, error);
}
