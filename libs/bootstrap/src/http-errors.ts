import { HttpException, HttpStatus } from '@nestjs/common';
import { AppError, appError } from '#errors';

/** Converts what an HTTP server of Nest or Fastify has thrown. A 4xx status stays a 4xx status; its text stays in the process. */
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
