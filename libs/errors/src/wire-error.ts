import { AppError, appError } from './errors.js';

/** How an error travels between processes. Code and status travel too, so that an older receiver answers rightly. */
interface WireError {
  readonly kind: 'AppError';
  readonly name: string;
  readonly code: number;
  readonly status: number;
  readonly message: string;
  readonly retryAfterSeconds?: number;
}

/** Any thrown value as an AppError; what is not one becomes INTERNAL with its cause kept for the log. */
export function toAppError(thrown: unknown): AppError {
  return thrown instanceof AppError ? thrown : appError('INTERNAL', { cause: thrown });
}

/** The wire form of an error; it carries no cause and no stack. */
export function toWireError(error: AppError): WireError {
  return {
    kind: 'AppError',
    name: error.errorName,
    code: error.code,
    status: error.status,
    message: error.message,
    ...(error.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: error.retryAfterSeconds }),
  };
}

function isWireError(value: unknown): value is WireError {
  if (typeof value !== 'object' || value === null) return false;
  const { kind, name, code, status, message } = value as Record<keyof WireError, unknown>;
  return (
    kind === 'AppError' &&
    typeof name === 'string' &&
    Number.isInteger(code) &&
    Number.isInteger(status) &&
    (status as number) >= 400 &&
    (status as number) <= 599 &&
    typeof message === 'string'
  );
}

/** Reads the wire form; anything else becomes INTERNAL. */
export function fromWireError(value: unknown): AppError {
  if (!isWireError(value)) return appError('INTERNAL', { cause: new Error('malformed error on the wire') });
  const { name, code, status, message, retryAfterSeconds } = value;
  return new AppError(name, {
    code,
    status,
    message,
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  });
}
