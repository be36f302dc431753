export { AppError, appError, type ErrorName, ERRORS, isAppError } from './errors.js';
export { isServerAway, messageOf, reasonOf, ServerAway, withTimeout } from './failures.js';
export { fromWireError, toAppError, toWireError } from './wire-error.js';
