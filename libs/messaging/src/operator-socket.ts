import { once } from 'node:events';
import { chmod } from 'node:fs/promises';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { createInterface, type Interface } from 'node:readline';
import type { RpcContract } from '#contracts';
import { AppError, appError, toAppError } from '#errors';
import { decodeRequest, encodeError, type RpcTransport } from './transport.js';

const NO_LISTENER_CODES: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ECONNREFUSED']);

const closed = (cause: unknown) =>
  appError('SERVICE_UNAVAILABLE', { message: 'The server closed the connection.', cause });

const late = () => appError('SERVICE_UNAVAILABLE', { message: 'The server did not answer in time.' });

/** The lines of a socket. Without the listener, a socket that is destroyed would leave its reader waiting for ever. */
function linesOf(socket: Socket): Interface {
  const lines = createInterface({ input: socket });
  socket.once('close', () => {
    lines.close();
  });
  return lines;
}

/** The client of a running server's operator socket. It sends one request at a time. */
export class OperatorSocket implements RpcTransport {
  readonly #lines: AsyncIterator<string>;

  private constructor(
    private readonly socket: Socket,
    lines: Interface,
  ) {
    this.#lines = lines[Symbol.asyncIterator]();
  }

  static async open(path: string): Promise<OperatorSocket | undefined> {
    const socket = createConnection(path);
    try {
      await once(socket, 'connect');
    } catch (error) {
      if (NO_LISTENER_CODES.has((error as NodeJS.ErrnoException).code)) return undefined;
      throw error;
    }
    socket.on('error', () => socket.destroy());
    socket.on('timeout', () => socket.destroy(late()));
    return new OperatorSocket(socket, linesOf(socket));
  }

  /** A reply after the timeout would answer the next request, so the timeout ends the connection. @throws AppError SERVICE_UNAVAILABLE */
  async request(_pattern: string, body: string, timeoutMs: number): Promise<string> {
    this.socket.write(`${body}\n`);
    this.socket.setTimeout(timeoutMs);
    const line = await this.#lines.next().catch(() => undefined);
    this.socket.setTimeout(0);
    if (line === undefined || line.done === true) throw this.#ending();
    return line.value;
  }

  close(): void {
    this.socket.end();
  }

  #ending(): AppError {
    const { errored } = this.socket;
    return errored instanceof AppError ? errored : closed(errored ?? undefined);
  }
}

export interface ServedOperators {
  /** Closes open connections, too, because idle ones would not end by themselves. */
  close(): Promise<void>;
}

/** Serves the contracts over a Unix socket, to the user of this process only: one request and one reply per line, in order. */
export async function serveOperators(
  path: string,
  contracts: readonly RpcContract[],
  requester: () => RpcTransport | undefined,
): Promise<ServedOperators> {
  const allowed = new Map(contracts.map((contract) => [contract.pattern, contract]));
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    answerLines(socket, (line) => answer(line, allowed, requester())).catch(() => socket.destroy());
  });
  await listen(server, path);
  return { close: () => close(server, sockets) };
}

async function listen(server: Server, path: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, () => {
      server.off('error', reject);
      resolve();
    });
  });
  await chmod(path, 0o600);
}

async function close(server: Server, sockets: ReadonlySet<Socket>): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  for (const socket of sockets) socket.destroySoon();
  await closed;
}

async function answerLines(socket: Socket, respond: (line: string) => Promise<string>): Promise<void> {
  socket.on('error', () => socket.destroy());
  for await (const line of linesOf(socket)) socket.write(`${await respond(line)}\n`);
}

async function answer(
  line: string,
  allowed: ReadonlyMap<string, RpcContract>,
  requester: RpcTransport | undefined,
): Promise<string> {
  try {
    const contract = allowed.get(decodeRequest(line).pattern);
    if (contract === undefined) throw appError('FORBIDDEN', { message: 'This request is not available to operators.' });
    if (requester === undefined)
      throw appError('SERVICE_UNAVAILABLE', { message: 'The server is still starting. Try again.' });
    return await requester.request(contract.pattern, line, contract.timeoutMs);
  } catch (error) {
    return encodeError(toAppError(error));
  }
}
