import type { Socket } from 'node:net';
import { type ArgumentsHost, Catch, type ExceptionFilter, Logger } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { fromHttp } from '#bootstrap';
import { type AppError, appError } from '#errors';
import { reportError } from '#observability';

/** Twice the largest body limit that can be configured. */
const MAX_DRAINED_BYTES = 16 * 1024 * 1024;

/** The error responses of pages, which people read. */
interface ErrorPages {
  readonly isForPage: (request: FastifyRequest) => boolean;
  readonly sendErrorPage: (request: FastifyRequest, reply: FastifyReply, error: AppError) => void;
}

/** Writes every error response: `{code, error}` (specification, Errors), or a page where the request is for one. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  private readonly logger = new Logger('Http');

  constructor(private readonly pages: ErrorPages) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const error = fromHttp(thrown);
    const request = http.getRequest<FastifyRequest>();
    const reply = http.getResponse<FastifyReply>();
    reportError(this.logger, error, { requestId: request.id });
    if (error.is('PAYLOAD_TOO_LARGE')) letFinish(request, reply);
    if (this.pages.isForPage(request)) this.pages.sendErrorPage(request, reply, error);
    else sendError(reply, error);
  }
}

export function sendError(reply: FastifyReply, error: AppError): void {
  if (error.retryAfterSeconds !== undefined) void reply.header('retry-after', String(error.retryAfterSeconds));
  void reply.code(error.status).send(errorBody(error));
}

/**
 * Keeps the connection open, which Fastify would close at once: a client that is still sending would see a broken connection
 * instead of the response. The rest of a body of known length is read and discarded.
 */
function letFinish({ headers }: FastifyRequest, reply: FastifyReply): void {
  if (Number(headers['content-length']) <= MAX_DRAINED_BYTES) void reply.removeHeader('connection');
}

export function errorBody({ code, message }: AppError): { code: number; error: string } {
  return { code, error: message };
}

const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
};
/** Time for a client to read the response before the connection is destroyed. */
const LINGER_MS = 1_000;

/**
 * Responds where the HTTP parser failed or the request did not arrive in time. No request exists yet, so the response is
 * written to the socket. The connection ends even if the client keeps its side open and continues to send.
 */
export function respondToUnreadable(error: NodeJS.ErrnoException, socket: Socket): void {
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
