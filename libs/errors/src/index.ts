export { AppError, appError, type ErrorName, ERRORS, isAppError } from './errors.js';
export {
  abortableSleep,
  Backoff,
  fromWireError,
  isServerAway,
  messageOf,
  reasonOf,
  ServerAway,
  toAppError,
  toWireError,
  whileUnavailable,
  withTimeout,
} from './failures.js';
