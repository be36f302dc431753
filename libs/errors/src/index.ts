export { AppError, appError, type ErrorName, ERRORS, isAppError } from './errors.js';
export { isServerAway, messageOf, reasonOf, ServerAway } from './reasons.js';
export { fromWireError, toAppError, toWireError } from './wire-error.js';
export { withTimeout } from './with-timeout.js';
