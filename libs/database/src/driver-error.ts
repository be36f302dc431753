import { DatabaseError } from 'pg';
import { AppError, appError, isServerAway, ServerAway } from '#errors';
import { isChangedPlan } from './statement.js';

/** SQLSTATE classes and codes of temporary conditions: connection, resources, operator intervention, I/O, lock and time limits. */
const TRANSIENT_SQLSTATE = /^(08|53|57|58)|^(40001|40P01|55P03|25006|25P03)$/;
/** Of these, the codes of a missing connection: class 08, a server that stops or starts. */
const AWAY_SQLSTATE = /^(08|57P0[123])/;
/** Codes and texts of refused connections: the login, the database, TLS, this system. They end once an operator acts, so each is logged. */
const REFUSED_CONNECTION =
  /^(28|3D000$|CERT_|ERR_TLS_|ERR_SSL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|SASL: |E(MFILE|NFILE|NOBUFS|NOMEM|ACCES|PERM|PROTO|AFNOSUPPORT)$)|SSL connection/;
/** PostgreSQL's function that refuses a login to a database which accepts none (55000), or for want of the privilege CONNECT (42501). */
const REFUSING_ROUTINE = 'CheckMyDatabase';
const UNIQUE_VIOLATION = '23505';
const FOREIGN_KEY_VIOLATION = '23503';
const NETWORK_CODE =
  /^(ECONN(REFUSED|RESET|ABORTED)|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_(AGAIN|FAIL|MEMORY|SYSTEM)|ENOENT|E(HOST|NET)(UNREACH|DOWN)|EADDRNOTAVAIL)$/;
/** Texts of node-postgres errors that have no code. */
const CONNECTION_TEXT =
  /timeout exceeded when trying to connect|timeout expired|Connection terminated|Client has encountered a connection error|not queryable|Cannot use a pool after|Query read timeout/i;
const PROTOCOL_VIOLATION = '08P01';
const QUERY_CANCELED = '57014';
const DEADLOCK = '40P01';
export const READ_ONLY = '25006';
/** A deadlock, a lock that was not free in time, a server without writes, a plan from before a migration, a refused login. */
const OUTSIDE = /^(40P01|55P03|25006|0A000|42501|55000)$/;
const INVALID_REGULAR_EXPRESSION = '2201B';
const SHOWN_SQL_LENGTH = 200;

/** Its message contains the statement, never its values, because it is logged and values may be secrets. */
class StatementError extends Error {
  override readonly name = 'StatementError';

  constructor(
    readonly sqlState: string,
    readonly constraint: string | undefined,
    sql: string,
  ) {
    super(
      `SQLSTATE ${sqlState}${constraint === undefined ? '' : ` (${constraint})`} in: ${sql.slice(0, SHOWN_SQL_LENGTH)}`,
    );
  }
}

/** PostgreSQL's names of the conditions that operators must act on. */
const CONDITIONS = new Map([
  [READ_ONLY, 'a standby, or read-only'],
  ['28000', 'login refused'],
  ['28P01', 'wrong password'],
  ['3D000', 'no such database'],
  ['42501', 'no privilege to connect'],
  ['53100', 'disk full'],
  ['53200', 'out of memory'],
  ['53300', 'too many connections'],
  ['53400', 'configuration limit exceeded'],
  ['55000', 'the database accepts no connections'],
  [QUERY_CANCELED, 'query canceled'],
  ['EMFILE', 'too many open files of this process'],
]);

class TransientFailure extends Error {
  constructor(readonly reason: string) {
    const condition = CONDITIONS.get(reason);
    super(`PostgreSQL: ${reason}${condition === undefined ? '' : ` (${condition})`}`);
  }
}

interface DriverFailure {
  readonly code?: unknown;
  readonly message?: unknown;
  readonly constraint?: unknown;
  readonly routine?: unknown;
}

/** A failure that a retry may resolve becomes SERVICE_UNAVAILABLE, with the cause ServerAway where the connection failed. */
export function translateDriverError(error: unknown, sql: string): unknown {
  const { code, message, constraint, routine }: DriverFailure = error ?? {};
  const reason = typeof code === 'string' ? code : String(message);
  if (isTransient(code, reason) || isChangedPlan(error) || routine === REFUSING_ROUTINE) {
    const shown = code === PROTOCOL_VIOLATION ? `${reason} (${String(message)})` : reason;
    const cause = isAway(code, reason) ? new ServerAway(`PostgreSQL: ${shown}`) : new TransientFailure(reason);
    return appError('SERVICE_UNAVAILABLE', { cause });
  }
  if (!(error instanceof DatabaseError)) return error;
  return new StatementError(String(code), typeof constraint === 'string' ? constraint : undefined, sql);
}

export function isStatementTimeout(error: unknown): boolean {
  return transientReason(error) === QUERY_CANCELED;
}

/** Transactions waited for each other, and PostgreSQL has rolled this one back. */
export function isDeadlock(error: unknown): boolean {
  return transientReason(error) === DEADLOCK;
}

function transientReason(error: unknown): string | undefined {
  return error instanceof AppError && error.cause instanceof TransientFailure ? error.cause.reason : undefined;
}

/** No connection came about or lasted: the server is away, or refuses the login or the database. */
export function isUnreached(error: unknown): boolean {
  const failure = translateDriverError(error, '');
  return isServerAway(failure) || REFUSED_CONNECTION.test(transientReason(failure) ?? '');
}

/** For a reason outside of the statement: not for want of disk or memory or at its timeout, where the same work would end the same way. */
export function isInterrupted(error: unknown): boolean {
  if (isServerAway(error)) return true;
  const reason = transientReason(error) ?? '';
  return OUTSIDE.test(reason) || REFUSED_CONNECTION.test(reason);
}

export function isRefusedPattern(error: unknown): boolean {
  return error instanceof StatementError && error.sqlState === INVALID_REGULAR_EXPRESSION;
}

export function violatedUniqueConstraint(error: unknown): string | undefined {
  return violatedConstraint(error, UNIQUE_VIOLATION);
}

export function violatedForeignKey(error: unknown): string | undefined {
  return violatedConstraint(error, FOREIGN_KEY_VIOLATION);
}

function violatedConstraint(error: unknown, sqlState: string): string | undefined {
  return error instanceof StatementError && error.sqlState === sqlState ? error.constraint : undefined;
}

/** Whether a transient failure is a missing connection. A failure without a code is a lost one, unless PostgreSQL refuses it. */
function isAway(code: unknown, reason: string): boolean {
  if (REFUSED_CONNECTION.test(reason)) return false;
  return typeof code !== 'string' || NETWORK_CODE.test(code) || AWAY_SQLSTATE.test(code);
}

function isTransient(code: unknown, reason: string): boolean {
  if (REFUSED_CONNECTION.test(reason)) return true;
  return reason === code ? NETWORK_CODE.test(reason) || TRANSIENT_SQLSTATE.test(reason) : CONNECTION_TEXT.test(reason);
}
