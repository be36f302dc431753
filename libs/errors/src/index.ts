export { AppError, appError } from './app-error.js';
export { ERRORS, type ErrorName } from './errors.js';
export { fromWireError, toAppError, toWireError } from './wire-error.js';
