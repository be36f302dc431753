export { AppError, appError } from './app-error.js';
export { ERRORS, type ErrorName } from './errors.js';
export { messageOf } from './message-of.js';
export { isServerAway, ServerAway } from './server-away.js';
export { fromWireError, toAppError, toWireError } from './wire-error.js';
