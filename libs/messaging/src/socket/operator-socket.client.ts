import { createConnection, type Socket } from 'node:net';
import { createInterface, type Interface } from 'node:readline';
import { appError } from '#errors';
import type { Requester } from '../transport.js';

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
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => {
        resolve(true);
      });
      socket.once('error', () => {
        resolve(false);
      });
    });
    if (!isOpen) return undefined;
    socket.on('error', () => socket.destroy());
    return new OperatorSocket(socket, createInterface({ input: socket }));
  }

  async request(_pattern: string, body: string, timeoutMs: number): Promise<string> {
    this.socket.write(`${body}\n`);
    this.socket.setTimeout(timeoutMs, () => this.socket.destroy());
    const line = await this.#lines.next();
    if (line.done) throw appError('SERVICE_UNAVAILABLE', { message: 'The server closed the connection.' });
    return line.value;
  }

  close(): void {
    this.socket.end();
  }
}
