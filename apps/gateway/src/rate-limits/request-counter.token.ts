/** DI token of the process's `RequestCounter`. */
export const REQUEST_COUNTER = Symbol('RequestCounter');
