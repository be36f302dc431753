import type { Logger } from '@nestjs/common';
import type { AppError } from '#errors';

/** What an error's line says of where it came from. */
export interface ReportFields {
  readonly requestId?: string;
  readonly messageId?: string;
}

/**
 * Logs the true cause of an error, as loudly as the error's row says. An error without a cause came from another
 * process, which has logged it, or is a client's mistake.
 */
export function reportError(logger: Logger, error: AppError, fields: ReportFields): void {
  const { cause, logLevel, message } = error;
  if (!(cause instanceof Error) || logLevel === 'debug') return;
  if (logLevel === 'error') logger.error(cause, fields);
  else logger.warn(`${message} (${cause.message})`, fields);
}
