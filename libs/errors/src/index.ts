export { AppError, appError, type ErrorName, ERRORS, isServerAway, messageOf, ServerAway } from './errors.js';
export { fromWireError, toAppError, toWireError } from './wire-error.js';
export { withTimeout } from './with-timeout.js';
