export { AppError, appError, type ErrorName, ERRORS, isAppError } from './errors.js';
export {
  fromWireError,
  isServerAway,
  messageOf,
  reasonOf,
  ServerAway,
  toAppError,
  toWireError,
  withTimeout,
} from './failures.js';
