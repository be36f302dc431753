import http2, { type ClientHttp2Session, type ClientHttp2Stream, type IncomingHttpHeaders } from 'node:http2';
import type { Duplex } from 'node:stream';
import type { Outcome } from './vendor-channel.rules.js';

const CONNECT_TIMEOUT_MS = 10_000;
/** Per connection, even where the server permits more. */
const MAX_STREAMS = 1_000;
const PING_INTERVAL_MS = 30_000;
const PING_TIMEOUT_MS = 5_000;
const CONNECT_PAUSE_MS = 1_000;
const MAX_ANSWER_BYTES = 65_536;

interface AnswerLimits {
  /** Of a request, and before it of the wait for a free stream. */
  readonly timeoutMs: number;
  readonly maxAnswerBytes?: number;
}

interface Http2Options extends AnswerLimits {
  readonly connections: number;
  readonly connect?: () => Promise<Duplex>;
}

interface Http2Request {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

export interface Http2Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** The message is a code that can be logged. */
export class Http2Error extends Error {
  constructor(
    /** The server has surely not processed the request. */
    readonly isUnprocessed: boolean,
    code: string,
  ) {
    super(code);
  }
}

export function ofAnotherServer(status: number): Http2Error {
  return new Http2Error(false, `status ${status} of another server`);
}

/** No request has begun: the connections were closed. */
export const CLOSED = 'closed';

/** The lane closes its connections where its credentials change: the vendor has not failed. */
export function outcomeWithoutAnswer({ message, isUnprocessed }: Http2Error): Outcome {
  if (message === CLOSED) return { kind: 'waiting', reason: 'the credentials have changed' };
  return { kind: isUnprocessed ? 'later' : 'unsure', reason: `no answer (${message})`, scope: 'lane' };
}

/** A few lasting connections to one server. Requests wait for a free stream; one that was surely not processed is repeated, once. */
export class Http2Client {
  readonly #connections = new Set<Connection>();
  #isOpening = false;
  #failure: { readonly error: Http2Error; readonly until: number } | undefined;
  #waiting: (() => void)[] = [];
  #isClosed = false;

  /** @param origin scheme, host and port; `http:` is HTTP/2 without TLS, for tests */
  constructor(
    private readonly origin: string,
    private readonly options: Http2Options,
  ) {}

  async request(request: Http2Request): Promise<Http2Answer> {
    const waitsUntil = performance.now() + this.options.timeoutMs;
    return this.#attempt(request, waitsUntil).catch((error: unknown) => {
      if (!(error as Http2Error).isUnprocessed || performance.now() >= waitsUntil) throw error;
      return this.#attempt(request, waitsUntil);
    });
  }

  close(): void {
    this.#isClosed = true;
    for (const connection of this.#connections) connection.close();
    this.#wake();
  }

  async #attempt(request: Http2Request, waitsUntil: number): Promise<Http2Answer> {
    for (;;) {
      const connection = this.#free();
      // Sends at once: another request may take the free stream while this one waits for anything.
      if (connection !== undefined) return connection.send(request, this.options);
      const leftMs = waitsUntil - performance.now();
      if (leftMs <= 0) throw new Http2Error(true, 'no free stream in time');
      await this.#freed(leftMs);
    }
  }

  #free(): Connection | undefined {
    if (this.#isClosed) throw new Http2Error(true, CLOSED);
    return [...this.#connections].find((connection) => connection.hasFreeStream);
  }

  /** Resolves when a stream may be free, or after the time. @throws Http2Error where no connection can be opened */
  async #freed(leftMs: number): Promise<void> {
    const usable = [...this.#connections].filter(({ isUsable }) => isUsable).length;
    const failure = this.#failure !== undefined && performance.now() < this.#failure.until ? this.#failure : undefined;
    if (usable === 0 && failure !== undefined) throw failure.error;
    const change = new Promise<void>((resolve) => this.#waiting.push(resolve));
    if (usable < this.options.connections && failure === undefined && !this.#isOpening) void this.#open();
    const timer = setTimeout(this.#wake.bind(this), leftMs);
    await change;
    clearTimeout(timer);
  }

  async #open(): Promise<void> {
    this.#isOpening = true;
    try {
      const socket = await this.options.connect?.();
      const connection = await Connection.open(this.origin, socket, (changed) => {
        if (changed.isDestroyed) this.#connections.delete(changed);
        this.#wake();
      });
      this.#failure = undefined;
      if (this.#isClosed) connection.close();
      else this.#connections.add(connection);
    } catch (error) {
      const failure = error instanceof Http2Error ? error : new Http2Error(true, codeOf(error));
      this.#failure = { error: failure, until: performance.now() + CONNECT_PAUSE_MS };
    } finally {
      this.#isOpening = false;
      this.#wake();
    }
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}

class Connection {
  #active = 0;
  #limit = 1;
  #isDraining = false;
  /** The server has not processed streams with higher ids. */
  #lastStreamId = Infinity;
  readonly #pings: NodeJS.Timeout;

  static async open(
    origin: string,
    socket: Duplex | undefined,
    onChange: (changed: Connection) => void,
  ): Promise<Connection> {
    const session = http2.connect(origin, {
      settings: { enablePush: false },
      peerMaxConcurrentStreams: 1,
      ...(socket === undefined ? {} : { createConnection: () => socket }),
    });
    const connection = new Connection(session, onChange);
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        session.destroy();
        reject(new Http2Error(true, 'no connection in time'));
      }, CONNECT_TIMEOUT_MS);
      session.once('remoteSettings', () => {
        clearTimeout(timer);
        resolve();
      });
      session.once('error', reject);
      session.once('close', () => {
        clearTimeout(timer);
        reject(new Http2Error(true, 'connection closed'));
      });
    });
    return connection;
  }

  private constructor(
    private readonly session: ClientHttp2Session,
    private readonly onChange: (changed: Connection) => void,
  ) {
    session.on('remoteSettings', (settings: http2.Settings) => {
      this.#limit = Math.min(MAX_STREAMS, settings.maxConcurrentStreams ?? MAX_STREAMS);
      this.onChange(this);
    });
    session.on('goaway', (_code, lastStreamId: number) => {
      this.#isDraining = true;
      this.#lastStreamId = lastStreamId;
      this.onChange(this);
    });
    session.on('error', () => undefined);
    session.once('close', () => {
      clearInterval(this.#pings);
      this.onChange(this);
    });
    this.#pings = setInterval(() => {
      this.#ping();
    }, PING_INTERVAL_MS).unref();
  }

  get isDestroyed(): boolean {
    return this.session.destroyed;
  }

  get isUsable(): boolean {
    return !this.#isDraining && !this.session.closed && !this.session.destroyed;
  }

  get hasFreeStream(): boolean {
    return this.isUsable && this.#active < this.#limit;
  }

  close(): void {
    this.session.close();
  }

  async send({ path, headers, body }: Http2Request, limits: AnswerLimits): Promise<Http2Answer> {
    this.#active += 1;
    try {
      const stream = this.#request({ ':method': 'POST', ':path': path, ...headers });
      stream.end(body);
      return await this.#answer(stream, limits);
    } finally {
      this.#active -= 1;
      if (this.#isDraining && this.#active === 0) this.session.close();
      this.onChange(this);
    }
  }

  #request(headers: Readonly<Record<string, string>>): ClientHttp2Stream {
    try {
      return this.session.request(headers);
    } catch (error) {
      throw new Http2Error(true, codeOf(error));
    }
  }

  #answer(
    stream: ClientHttp2Stream,
    { timeoutMs, maxAnswerBytes = MAX_ANSWER_BYTES }: AnswerLimits,
  ): Promise<Http2Answer> {
    return new Promise((resolve, reject) => {
      let headers: IncomingHttpHeaders | undefined;
      let size = 0;
      let reason = 'connection lost';
      const parts: Buffer[] = [];
      const cancel = (why: string) => {
        reason = why;
        stream.close(http2.constants.NGHTTP2_CANCEL);
        // A request that waits in the connection for its stream would never close by itself.
        stream.destroy();
      };
      const timer = setTimeout(() => {
        cancel('no answer in time');
      }, timeoutMs);
      let isWhole = false;
      stream.once('response', (received) => {
        headers = received;
      });
      stream.on('data', (part: Buffer) => {
        size += part.length;
        if (size > maxAnswerBytes) cancel('answer too large');
        else parts.push(part);
      });
      stream.once('end', () => {
        isWhole = stream.rstCode === http2.constants.NGHTTP2_NO_ERROR && size <= maxAnswerBytes;
      });
      stream.on('error', () => undefined);
      stream.once('close', () => {
        clearTimeout(timer);
        if (isWhole && headers !== undefined)
          resolve({ status: Number(headers[':status']), headers, text: Buffer.concat(parts).toString() });
        else reject(new Http2Error(this.#isUnprocessed(stream), reason));
      });
    });
  }

  #isUnprocessed({ id, rstCode }: ClientHttp2Stream): boolean {
    if (rstCode === http2.constants.NGHTTP2_REFUSED_STREAM || id === undefined) return true;
    return this.#isDraining && id > this.#lastStreamId;
  }

  #ping(): void {
    if (this.session.destroyed || this.session.closed) return;
    const timer = setTimeout(() => {
      this.session.destroy();
    }, PING_TIMEOUT_MS).unref();
    this.session.ping(() => {
      clearTimeout(timer);
    });
  }
}

function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : 'connection failed';
}
