import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach } from 'vitest';

export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

type Answer = (response: ServerResponse) => void;

const OK: Answer = (response) => response.end('{}');

/** An external server that responds as a test defines. */
export class ReceivingServer {
  readonly received: ReceivedRequest[] = [];
  answer: Answer = OK;

  private constructor(private readonly server: Server) {}

  static async start(): Promise<ReceivingServer> {
    const server = createServer();
    const receiving = new ReceivingServer(server);
    server.on('request', (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { method = '', url: path = '', headers } = request;
        receiving.received.push({ method, path, headers, body: Buffer.concat(chunks).toString() });
        receiving.answer(response);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return receiving;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  answerWith(status: number, body = '', headers: Readonly<Record<string, string>> = {}): void {
    this.answer = (response) => response.writeHead(status, headers).end(body);
  }

  reset(): void {
    this.received.length = 0;
    this.answer = OK;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

/** Starts a server for the tests of a suite. */
export function useReceivingServer(): () => ReceivingServer {
  let server: ReceivingServer | undefined;
  beforeAll(async () => {
    server = await ReceivingServer.start();
  });
  beforeEach(() => {
    server?.reset();
  });
  afterAll(() => server?.stop());
  return () => {
    if (server === undefined) throw new Error('the server is there once the tests run');
    return server;
  };
}
