import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import { createInterface, type Interface } from 'node:readline';
import { appError } from '#errors';
import type { Requester } from '../transport.js';

/** The codes of a socket that is not there, and of one whose process is gone. */
const NOBODY_LISTENS: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ECONNREFUSED']);

const closed = (cause?: unknown) =>
  appError('SERVICE_UNAVAILABLE', { message: 'The server closed the connection.', cause });

/** The asking side of a running server's operator socket. One request at a time. */
export class OperatorSocket implements Requester {
  readonly #lines: AsyncIterator<string>;

  private constructor(
    private readonly socket: Socket,
    lines: Interface,
  ) {
    this.#lines = lines[Symbol.asyncIterator]();
  }

  /** @returns undefined where no server listens */
  static async open(path: string): Promise<OperatorSocket | undefined> {
    const socket = createConnection(path);
    try {
      await once(socket, 'connect');
    } catch (error) {
      if (NOBODY_LISTENS.has((error as NodeJS.ErrnoException).code)) return undefined;
      throw error;
    }
    socket.on('error', () => socket.destroy());
    socket.on('timeout', () => socket.destroy());
    return new OperatorSocket(socket, createInterface({ input: socket }));
  }

  async request(_pattern: string, body: string, timeoutMs: number): Promise<string> {
    this.socket.write(`${body}\n`);
    this.socket.setTimeout(timeoutMs);
    const line = await this.#lines.next().catch((cause: unknown) => {
      throw closed(cause);
    });
    if (line.done) throw closed();
    return line.value;
  }

  close(): void {
    this.socket.end();
  }
}
