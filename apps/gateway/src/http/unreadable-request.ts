import type { Socket } from 'node:net';
import { appError } from '#errors';

const REASONS: Readonly<Record<number, string>> = { 400: 'Bad Request', 431: 'Request Header Fields Too Large' };

/** Answers what the HTTP parser could not read: no request exists yet, so the answer is written by hand. */
export function answerUnreadable(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const { status, code, message } =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? appError('HEADERS_TOO_LARGE')
      : appError('MALFORMED_JSON', { message: 'The request is malformed.' });
  const body = JSON.stringify({ code, error: message });
  const head = [
    `HTTP/1.1 ${status} ${REASONS[status] ?? ''}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
