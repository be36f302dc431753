import { ERRORS, type ErrorLogLevel, type ErrorName } from './errors.js';

export interface AppErrorOptions {
  /** Replaces the table's text. It is public: it must hold no secret and nothing of another user. */
  readonly message?: string;
  readonly cause?: unknown;
  readonly retryAfterSeconds?: number;
}

/** A failure with a documented code. The only error class that crosses a process. */
export class AppError extends Error {
  readonly code: number;
  readonly status: number;
  readonly retryAfterSeconds: number | undefined;
  readonly logLevel: ErrorLogLevel;

  constructor(
    readonly errorName: string,
    options: AppErrorOptions & { readonly code?: number; readonly status?: number } = {},
  ) {
    const row = Object.hasOwn(ERRORS, errorName) ? ERRORS[errorName as ErrorName] : ERRORS.INTERNAL;
    super(options.message ?? row.message, options.cause === undefined ? {} : { cause: options.cause });
    this.name = 'AppError';
    this.code = options.code ?? row.code;
    this.status = options.status ?? row.status;
    this.retryAfterSeconds = options.retryAfterSeconds ?? row.retryAfterSeconds;
    this.logLevel = row.logLevel ?? 'debug';
  }

  /** Whether this is the named error of the table. */
  is(name: ErrorName): boolean {
    return this.errorName === name;
  }
}

/** Makes the named error of the table. Use it wherever an error is thrown: the name is checked by the compiler. */
export function appError(name: ErrorName, options: AppErrorOptions = {}): AppError {
  return new AppError(name, options);
}
