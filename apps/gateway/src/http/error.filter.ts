import type { Socket } from 'node:net';
import { type ArgumentsHost, Catch, type ExceptionFilter, Logger } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { destroySoon, fromHttp } from '#bootstrap';
import { type AppError, appError } from '#errors';
import { reportError } from '#observability';

/** Twice the largest body limit that can be configured. */
const MAX_DRAINED_BYTES = 16 * 1024 * 1024;

const logger = new Logger('Http');

interface ErrorPages {
  readonly isForPage: (request: FastifyRequest) => boolean;
  readonly sendErrorPage: (request: FastifyRequest, reply: FastifyReply, error: AppError) => void;
}

/** Writes every error response: `{code, error}` (specification, Errors), or a page where the request is for one. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  constructor(private readonly pages: ErrorPages) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const error = fromHttp(thrown);
    const request = http.getRequest<FastifyRequest>();
    const reply = http.getResponse<FastifyReply>();
    reportError(logger, error, { requestId: request.id });
    if (error.is('PAYLOAD_TOO_LARGE')) letFinish(request, reply);
    if (this.pages.isForPage(request)) this.pages.sendErrorPage(request, reply, error);
    else sendError(reply, error);
  }
}

export function sendError(reply: FastifyReply, error: AppError): void {
  if (error.retryAfterSeconds !== undefined) void reply.header('retry-after', String(error.retryAfterSeconds));
  void reply.code(error.status).send(errorBody(error));
}

/** Keeps the connection open, as a client that is still sending would not see the response. The rest of its body is read and discarded. */
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

/** Responds where the HTTP parser failed or the request did not arrive in time: no request exists yet. The connection ends in any case. */
export function respondToUnreadable(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const { status, code, message } = refusalOf(error.code);
  const body = JSON.stringify({ code, error: message });
  const head = [
    `HTTP/1.1 ${status} ${REASONS[status] ?? ''}`,
    'access-control-allow-origin: *',
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  destroySoon(socket);
}

function refusalOf(errorCode: string | undefined): { status: number; code: number; message: string } {
  if (errorCode === 'HPE_HEADER_OVERFLOW') return appError('HEADERS_TOO_LARGE');
  const { status, code, message } = appError('MALFORMED_JSON', { message: 'The request is malformed.' });
  return errorCode === 'ERR_HTTP_REQUEST_TIMEOUT'
    ? { status: 408, code, message: 'The request did not arrive in time.' }
    : { status, code, message };
}

/** The name of a function of the page. The pattern allows no other code. */
export const callbackName = z
  .string()
  .max(64)
  .regex(/^[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*$/);
/** Characters that could end a script element, or a line of a script in old browsers. */
const UNSAFE = /[<\u2028\u2029]/g;

/** Responds to a script element (JSONP). @throws AppError NOT_SUPPORTED without a function: the request may come from a mail scanner */
export async function answerScript(
  request: FastifyRequest,
  reply: FastifyReply,
  act: () => Promise<object>,
): Promise<void> {
  const callback = callbackName.safeParse((request.query as { callback?: unknown }).callback);
  // Every GET route also accepts HEAD, whose response runs no script.
  if (request.method !== 'GET' || !callback.success)
    throw appError('NOT_SUPPORTED', {
      message: 'Send a POST request, or the parameter callback with the name of a function.',
    });
  const outcome = await outcomeOf(request, act);
  void reply.headers({
    'content-type': 'application/javascript; charset=utf-8',
    'x-content-type-options': 'nosniff',
  });
  await reply.send(scriptOf(callback.data, outcome));
}

/** The leading comment prevents browsers from interpreting the response as another format. */
function scriptOf(callback: string, value: object): string {
  const json = JSON.stringify(value).replaceAll(
    UNSAFE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return `/**/typeof ${callback} === 'function' && ${callback}(${json});`;
}

/** The status is always 200, because browsers do not run scripts with an error status. The result contains the code. */
async function outcomeOf({ id, url }: FastifyRequest, act: () => Promise<object>): Promise<object> {
  try {
    assertDecodable(url);
    return await act();
  } catch (thrown) {
    const error = fromHttp(thrown);
    reportError(logger, error, { requestId: id });
    return errorBody(error);
  }
}

/** Fastify leaves a malformed escape of a parameter as it is: a new password would be another one than the user has typed. */
function assertDecodable(url: string): void {
  try {
    decodeURIComponent(url);
  } catch {
    throw appError('MALFORMED_JSON', { message: 'The URL is malformed: use encodeURIComponent for its parameters.' });
  }
}
