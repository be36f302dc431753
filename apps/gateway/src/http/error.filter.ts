import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, HttpStatus, Logger } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError, appError } from '#errors';
import { reportError } from '#observability';
import { isForPage, sendErrorPage } from '../pages/error-page.js';

/** Twice the largest bound that an operator can set: what is longer was never meant for us. */
const MAX_DRAINED_BYTES = 16 * 1024 * 1024;

/** Writes every error body: `{code, error}` (specification, Errors), or a page where somebody reads it. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  private readonly logger = new Logger('Http');

  catch(thrown: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const error = fromHttp(thrown);
    const request = http.getRequest<FastifyRequest>();
    const reply = http.getResponse<FastifyReply>();
    reportError(this.logger, error, { requestId: request.id });
    if (error.is('PAYLOAD_TOO_LARGE')) letFinish(request, reply);
    if (isForPage(request)) sendErrorPage(request, reply, error);
    else sendError(reply, error);
  }
}

/** Answers with an error, wherever in a request's way it came up. */
export function sendError(reply: FastifyReply, error: AppError): void {
  if (error.retryAfterSeconds !== undefined) void reply.header('retry-after', String(error.retryAfterSeconds));
  void reply.code(error.status).send(errorBody(error));
}

/**
 * Fastify would close the connection at once: a client that is still sending sees it cut, and not the answer. A body that says where
 * it ends is read to that end instead, and thrown away.
 */
function letFinish({ headers }: FastifyRequest, reply: FastifyReply): void {
  if (Number(headers['content-length']) <= MAX_DRAINED_BYTES) void reply.removeHeader('connection');
}

/** What an error looks like in an answer. */
export function errorBody({ code, message }: AppError): { code: number; error: string } {
  return { code, error: message };
}

/** What Nest and Fastify throw themselves, as errors of ours: a client's mistake stays a 4xx. */
export function fromHttp(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown;
  const { statusCode } = (typeof thrown === 'object' && thrown !== null ? thrown : {}) as { statusCode?: unknown };
  const status = thrown instanceof HttpException ? thrown.getStatus() : statusCode;
  if (status === HttpStatus.PAYLOAD_TOO_LARGE) return appError('PAYLOAD_TOO_LARGE');
  if (status === HttpStatus.NOT_FOUND) return appError('NOT_FOUND');
  if (typeof status === 'number' && status >= 400 && status < 500)
    return appError('MALFORMED_JSON', { message: 'The request is malformed.' });
  return appError('INTERNAL', { cause: thrown });
}
