import type { Socket } from 'node:net';
import { appError } from '#errors';

const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
};
/** Time for a client to read why, before the connection is cut off. */
const LINGER_MS = 1_000;

/**
 * Answers what the HTTP parser could not read, or did not get in time: no request exists yet, so the answer is written by hand.
 * The connection ends also where the client keeps its side open, and goes on sending.
 */
export function answerUnreadable(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const { status, code, message } = refusalOf(error.code);
  const body = JSON.stringify({ code, error: message });
  const head = [
    `HTTP/1.1 ${status} ${REASONS[status] ?? ''}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

function refusalOf(errorCode: string | undefined): { status: number; code: number; message: string } {
  if (errorCode === 'HPE_HEADER_OVERFLOW') return appError('HEADERS_TOO_LARGE');
  const { status, code, message } = appError('MALFORMED_JSON', { message: 'The request is malformed.' });
  return errorCode === 'ERR_HTTP_REQUEST_TIMEOUT'
    ? { status: 408, code, message: 'The request did not arrive in time.' }
    : { status, code, message };
}
