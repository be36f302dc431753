import { AppError, appError } from './errors.js';

/**
 * The wire form of an error. It includes code and status, so that an older receiver can respond correctly to an error that it does not
 * know.
 */
interface WireError {
  readonly kind: 'AppError';
  readonly name: string;
  readonly code: number;
  readonly status: number;
  readonly message: string;
  readonly retryAfterSeconds?: number;
}

/**
 * Converts any thrown value to an AppError. A value that is not an AppError becomes INTERNAL, and its cause stays available for the log.
 */
export function toAppError(thrown: unknown): AppError {
  return thrown instanceof AppError ? thrown : appError('INTERNAL', { cause: thrown });
}

/** The wire form of an error, without cause and stack. */
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

/** Parses the wire form; any other value becomes INTERNAL. */
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
