import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const HOST = '127.0.0.1';
const CHUNK = Buffer.alloc(64 * 1024, 'x');
const TRICKLE_MS = 20;

/** The host of files and archives. It knows no keys: who has an address has the content, as with LeanCloud's. */
export class FileHost {
  /** By path. */
  readonly contents = new Map<string, Buffer>();
  /** Paths that lead to another URL. */
  readonly redirects = new Map<string, string>();
  /** Paths whose content never ends; `stalled` ones stop after the first part, `fast` ones do not. */
  readonly endless = new Map<string, 'fast' | 'slow' | 'stalled'>();
  /** So many of the next answers end in the middle. */
  cuts = 0;
  /** Method, path, and range of each request. */
  readonly calls: string[] = [];
  /** Requests that brought a key of the application along. */
  keysReceived = 0;

  private constructor(private readonly server: Server) {}

  static async start(): Promise<FileHost> {
    const server = createServer();
    const host = new FileHost(server);
    server.on('request', (request, response) => {
      host.#handle(request, response);
    });
    await new Promise<void>((resolve) => server.listen(0, HOST, resolve));
    return host;
  }

  get url(): string {
    return `http://${HOST}:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  #handle({ method = '', url = '/', headers }: IncomingMessage, response: ServerResponse): void {
    this.calls.push(`${method} ${url} ${headers.range ?? ''}`.trim());
    if (headers['x-lc-key'] !== undefined || headers['x-lc-id'] !== undefined) this.keysReceived += 1;
    const target = this.redirects.get(url);
    const content = this.contents.get(url);
    const kind = this.endless.get(url);
    if (target !== undefined) response.writeHead(302, { location: target }).end();
    else if (kind !== undefined) this.#never(response, kind);
    else if (content === undefined) response.writeHead(404).end('not found');
    else this.#send(response, content, headers.range);
  }

  #send(response: ServerResponse, content: Buffer, range: string | undefined): void {
    const start = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0);
    if (range !== undefined && start >= content.length) {
      response.writeHead(416).end();
      return;
    }
    const part = content.subarray(start);
    const ranged = { 'content-range': `bytes ${start}-${content.length - 1}/${content.length}` };
    response.writeHead(range === undefined ? 200 : 206, {
      'content-length': part.length,
      ...(range === undefined ? {} : ranged),
    });
    if (this.cuts === 0) {
      response.end(part);
      return;
    }
    this.cuts -= 1;
    response.write(part.subarray(0, Math.ceil(part.length / 2)), () => response.destroy());
  }

  #never(response: ServerResponse, kind: 'fast' | 'slow' | 'stalled'): void {
    response.writeHead(200);
    if (kind === 'stalled') {
      response.write(CHUNK);
      return;
    }
    const timer = setInterval(
      () => {
        if (response.writableLength < CHUNK.length) response.write(kind === 'fast' ? CHUNK : 'x');
      },
      kind === 'fast' ? 1 : TRICKLE_MS,
    );
    response.once('close', () => {
      clearInterval(timer);
    });
  }
}
