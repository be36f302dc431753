import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { setTimeout } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';

/** A request as the target received it. */
interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly rawHeaders: readonly string[];
  /** Complete bodies only; large ones as their hash. */
  body: string;
  isAborted: boolean;
}

type Behaviour = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

export const MIB = 1_048_576;
export const PIECE = Buffer.alloc(MIB, 'gatepost ');

/** The server of an application: a plain HTTP server, which answers what it received unless the last part of the path names a behaviour. */
export class ForwardingTarget {
  readonly received: Received[] = [];
  /** Bytes of the answers that this server has handed to its sockets. */
  written = 0;
  /** Resolve to let the server read the body of a request to `/wait`. */
  release: () => void = () => undefined;
  readonly #behaviours: Readonly<Record<string, Behaviour>> = {
    hang: () => undefined,
    close: (request) => void request.socket.destroy(),
    slow: async (_, response) => {
      for (const piece of ['a', 'b', 'c']) {
        response.write(piece);
        await setTimeout(100);
      }
      response.end();
    },
    stall: (_, response) => void response.write('a'),
    cut: (request, response) => {
      response.writeHead(200, { 'content-length': 100 }).write('only this');
      void setTimeout(50).then(() => request.socket.destroy());
    },
    redirect: (_, response) => void response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
    early: (_, response) => {
      response.writeEarlyHints({ link: '</style.css>; rel=preload' });
      response.writeProcessing();
      response.end('{}');
    },
    huge: (_, response) => void response.writeHead(200, { 'x-huge': 'x'.repeat(40_000) }).end(),
    garbage: (request) => void request.socket.end('HTTP/1.1 nonsense\r\n\r\n'),
    smuggle: (request) =>
      void request.socket.end('HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'),
    error: (_, response) => void response.writeHead(404, JSON_TYPE).end('{"code":101,"error":"none"}'),
    html: (_, response) => void response.writeHead(500, { 'content-type': 'text/html' }).end('<h1>Sorry</h1>'),
    broken: (_, response) => void response.writeHead(200, JSON_TYPE).end('{"a":'),
    nothing: (_, response) => void response.writeHead(204).end(),
    gzip: (_, response) =>
      void response.writeHead(200, { ...JSON_TYPE, 'content-encoding': 'gzip' }).end(gzipSync('{"zipped":true}')),
    cookies: (_, response) =>
      void response
        .writeHead(200, {
          'set-cookie': ['a=1', 'b=2'],
          'access-control-allow-origin': 'https://evil.example',
          'strict-transport-security': 'max-age=1',
          'x-own': 'kept',
          'cache-control': 'max-age=60',
        })
        .end(),
    large: async (_, response) => {
      response.writeHead(200, { 'content-length': 50 * MIB });
      // It fails where the client goes away.
      await pipeline(this.#pieces(), response).catch(() => undefined);
    },
    beyond: async (_, response) => {
      response.writeHead(600, JSON_TYPE);
      await pipeline(this.#pieces(), response).catch(() => undefined);
    },
    wait: async (request, response) => {
      await new Promise<void>((resolve) => (this.release = resolve));
      await this.#answer(request, response);
    },
  };

  private constructor(private readonly server: Server) {}

  static async start(): Promise<ForwardingTarget> {
    const server = createServer({ maxHeaderSize: 32_768 });
    const target = new ForwardingTarget(server);
    const listener: RequestListener = (request, response) => void target.#handle(request, response);
    server.on('request', listener);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return target;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  get last(): Received {
    const last = this.received.at(-1);
    if (last === undefined) throw new Error('the target has received nothing');
    return last;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  *#pieces(): Generator<Buffer> {
    for (let count = 0; count < 50; count += 1) {
      this.written += MIB;
      yield PIECE;
    }
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', headers, rawHeaders } = request;
    const received: Received = { method, url, headers, rawHeaders, body: '', isAborted: false };
    this.received.push(received);
    response.once('close', () => (received.isAborted = !response.writableFinished));
    const name = new URL(url, this.url).pathname.split('/').at(-1) ?? '';
    const behaviour = Object.hasOwn(this.#behaviours, name) ? this.#behaviours[name] : undefined;
    await (behaviour ?? ((...both) => this.#answer(...both)))(request, response);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const hash = createHash('sha256');
    let [bytes, text] = [0, ''];
    try {
      for await (const chunk of request as AsyncIterable<Buffer>) {
        hash.update(chunk);
        bytes += chunk.length;
        if (bytes < MIB) text += chunk.toString();
      }
    } catch {
      return;
    }
    const { method, url } = request;
    this.last.body = bytes < MIB ? text : hash.digest('hex');
    response.writeHead(200, { ...JSON_TYPE, 'x-target': 'yes' }).end(JSON.stringify({ method, url, bytes }));
  }
}

const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };
