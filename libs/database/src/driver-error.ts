import { QueryFailedError } from 'typeorm';
import { appError } from '#errors';

/** SQLSTATE classes and codes that say "not now": connection, resources, operator intervention, lock and time limits. */
const TRANSIENT_SQLSTATE = /^(08|53|57)|^(40001|40P01|55P03|25006)$/;
const UNIQUE_VIOLATION = '23505';
const NETWORK_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
  'EHOSTUNREACH',
]);
/** Texts of node-postgres errors that carry no code. */
const CONNECTION_TEXT =
  /timeout exceeded when trying to connect|Connection terminated|Client has encountered a connection error|not queryable|Cannot use a pool after|Driver not Connected|is not established/i;

interface DriverError {
  readonly code?: unknown;
  readonly message?: unknown;
  readonly constraint?: unknown;
}

function driverErrorOf(error: unknown): DriverError {
  return error instanceof QueryFailedError ? (error.driverError as DriverError) : (error ?? {});
}

/** A failure of the connection as SERVICE_UNAVAILABLE; any other error as it is. */
export function translateDriverError(error: unknown): unknown {
  const { code, message } = driverErrorOf(error);
  const isTransient =
    (typeof code === 'string' && (NETWORK_CODES.has(code) || TRANSIENT_SQLSTATE.test(code))) ||
    (typeof message === 'string' && CONNECTION_TEXT.test(message));
  return isTransient ? appError('SERVICE_UNAVAILABLE', { cause: error }) : error;
}

/** The name of the unique constraint that an error says was violated. */
export function violatedUniqueConstraint(error: unknown): string | undefined {
  const { code, constraint } = driverErrorOf(error);
  return code === UNIQUE_VIOLATION && typeof constraint === 'string' ? constraint : undefined;
}
