import { connect, type Socket } from 'node:net';
import { eventually } from '#testing';

const DEADLINE_MS = 10_000;

/** Opens a connection on which anything can be sent. */
export function openSocket(port: number, { allowHalfOpen = false } = {}): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen }, () => {
      // An attacker does not care how a connection ends.
      socket.off('error', reject).on('error', () => undefined);
      resolve(socket);
    });
    socket.once('error', reject);
  });
}

/** Sends bytes, and reads what is answered until the server ends the connection. @throws Error where it does not */
export async function converse(port: number, bytes: string | Buffer, isEnded: boolean): Promise<string> {
  const socket = await openSocket(port);
  const said: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => said.push(chunk));
  socket.write(bytes);
  if (isEnded) socket.end();
  await untilClosed(socket, DEADLINE_MS).finally(() => socket.destroy());
  return Buffer.concat(said).toString('latin1');
}

/** Waits until the other side has ended a connection. @throws Error where it does not in time */
export function untilClosed(socket: Socket, timeoutMs: number): Promise<void> {
  socket.resume();
  return eventually(() => {
    if (!socket.closed && !socket.readableEnded) throw new Error(`the server holds the connection, ${timeoutMs} ms`);
  }, timeoutMs);
}

/** The kinds of the answers, in their order: 2 for 200, 4 for 404. */
export function kindsOfAnswers(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d)\d\d /g)].map(([, kind]) => Number(kind));
}
