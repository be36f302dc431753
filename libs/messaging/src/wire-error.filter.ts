import { Catch, type ExceptionFilter, Logger } from '@nestjs/common';
import { type Observable, throwError } from 'rxjs';
import { type AppError, toAppError } from '#errors';

/** Keeps our error code on its way through Nest, and logs the true cause of what has no code of its own, once. */
@Catch()
export class WireErrorFilter implements ExceptionFilter {
  private readonly logger = new Logger('Rpc');

  catch(thrown: unknown): Observable<never> {
    const error = toAppError(thrown);
    this.report(error);
    return throwError(() => error);
  }

  private report(error: AppError): void {
    const cause = error.cause instanceof Error ? error.cause : error;
    if (error.logLevel === 'error') this.logger.error(cause);
    else if (error.logLevel === 'warn') this.logger.warn(`${error.message} (${cause.message})`);
  }
}
