import { isRefusedPattern, isStatementTimeout } from '#database';
import { appError } from '#errors';

/** A failure of a statement that a client worded, as one that is the client's: QUERY_TIMED_OUT, INVALID_QUERY. Others stay as they are. */
export function queryFailure(error: unknown): unknown {
  if (isStatementTimeout(error)) return appError('QUERY_TIMED_OUT');
  if (isRefusedPattern(error)) {
    return appError('INVALID_QUERY', { message: 'The regular expression is too complex.', cause: error });
  }
  return error;
}
