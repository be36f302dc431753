import { chmod } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { RpcContract } from '#contracts';
import { appError, toAppError } from '#errors';
import { decodeRequest, encodeError } from '../envelope.js';
import type { Requester } from '../transport.js';

/** Who may ask: the user that runs the server. */
const OWNER_ONLY = 0o600;

/** A socket that operators can ask. */
export interface ServedOperators {
  /** Ends the open connections too: one that is idle would never end by itself. */
  close(): Promise<void>;
}

/**
 * Lets operators of the same machine ask over a Unix socket: one request a line, one reply a line, in the order asked.
 * Only the given contracts can be asked, and only by the user of this process.
 * @throws the error of `listen`, such as EADDRINUSE where the socket exists
 */
export async function serveOperators(
  path: string,
  contracts: readonly RpcContract[],
  requester: () => Requester | undefined,
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
  await chmod(path, OWNER_ONLY);
}

async function close(server: Server, sockets: ReadonlySet<Socket>): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  for (const socket of sockets) socket.destroySoon();
  await closed;
}

async function answerLines(socket: Socket, respond: (line: string) => Promise<string>): Promise<void> {
  socket.on('error', () => socket.destroy());
  for await (const line of createInterface({ input: socket })) socket.write(`${await respond(line)}\n`);
}

async function answer(
  line: string,
  allowed: ReadonlyMap<string, RpcContract>,
  requester: Requester | undefined,
): Promise<string> {
  try {
    const contract = allowed.get(decodeRequest(line).pattern);
    if (contract === undefined) throw appError('FORBIDDEN', { message: 'Operators cannot ask this.' });
    if (requester === undefined) throw appError('SERVICE_UNAVAILABLE', { message: 'The server is still starting.' });
    return await requester.request(contract.pattern, line, contract.timeoutMs);
  } catch (error) {
    return encodeError(toAppError(error));
  }
}
