import { type ArgumentsHost, Catch, type ExceptionFilter, Logger } from '@nestjs/common';
import { type Observable, throwError } from 'rxjs';
import { toAppError } from '#errors';
import { type ReportFields, reportError } from '#observability';

/** Keeps our error code on its way through Nest, and logs the true cause of what has no code of its own, once. */
@Catch()
export class WireErrorFilter implements ExceptionFilter {
  private readonly logger = new Logger('Rpc');

  catch(thrown: unknown, host: ArgumentsHost): Observable<never> {
    const error = toAppError(thrown);
    reportError(this.logger, error, originOf(host.switchToRpc().getData()));
    return throwError(() => error);
  }
}

interface MessageData {
  readonly caller?: { readonly requestId?: unknown };
  readonly id?: unknown;
  readonly payload?: unknown;
  readonly requestId?: unknown;
}

/** The id of the HTTP request for which a message came; of an event, its own too. */
function originOf(data: unknown): ReportFields {
  const { caller, id, payload, requestId }: MessageData = data ?? {};
  if (typeof caller?.requestId === 'string') return { requestId: caller.requestId };
  // Other messages have an id of something else, such as an application.
  if (payload === undefined || typeof id !== 'string') return {};
  return typeof requestId === 'string' ? { messageId: id, requestId } : { messageId: id };
}
