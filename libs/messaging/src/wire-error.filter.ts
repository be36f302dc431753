import { type ArgumentsHost, Catch, type ExceptionFilter, Logger } from '@nestjs/common';
import { type Observable, throwError } from 'rxjs';
import { toAppError } from '#errors';
import { reportError } from '#observability';

/** Keeps our error code on its way through Nest, and logs the true cause of what has no code of its own, once. */
@Catch()
export class WireErrorFilter implements ExceptionFilter {
  private readonly logger = new Logger('Rpc');

  catch(thrown: unknown, host: ArgumentsHost): Observable<never> {
    const error = toAppError(thrown);
    reportError(this.logger, error, requestIdOf(host.switchToRpc().getData()));
    return throwError(() => error);
  }
}

/** The id of the HTTP request for which a message came; an event's own id. */
function requestIdOf(data: unknown): string | undefined {
  const { caller, id } = (data ?? {}) as { caller?: { requestId?: unknown }; id?: unknown };
  const requestId = caller?.requestId ?? id;
  return typeof requestId === 'string' ? requestId : undefined;
}
