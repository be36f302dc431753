export {
  AppError,
  appError,
  type ErrorName,
  ERRORS,
  isAppError,
  isServerAway,
  messageOf,
  ServerAway,
} from './errors.js';
export { fromWireError, toAppError, toWireError } from './wire-error.js';
export { withTimeout } from './with-timeout.js';
