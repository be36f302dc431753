import { format } from 'node:util';
import type { Logger, LoggerService } from '@nestjs/common';
import { type DestinationStream, type Logger as Pino, type LoggerOptions, pino } from 'pino';
import { type AppError, isServerAway, reasonOf } from '#errors';
import { currentTraceId } from './tracing.js';

type Level = 'debug' | 'info' | 'warn' | 'error';

/** Nest logs every module and route at the start; these lines matter only for debugging. */
const FRAMEWORK_CONTEXTS = new Set<unknown>([
  'InstanceLoader',
  'NestApplication',
  'NestFactory',
  'NestMicroservice',
  'RouterExplorer',
  'RoutesResolver',
]);

/** Nest's logger as JSON: one object per line with service, context and, where there are, request id and trace id. */
export class JsonLogger implements LoggerService {
  readonly #pino: Pino;

  constructor(service: string, level: Level) {
    const options: LoggerOptions = {
      level,
      base: { service },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    };
    this.#pino = pino(options, standardError());
  }

  log(message: unknown, ...rest: unknown[]): void {
    this.#write(FRAMEWORK_CONTEXTS.has(rest.at(-1)) ? 'debug' : 'info', message, rest);
  }

  error(message: unknown, ...rest: unknown[]): void {
    // A failure of the start is also thrown, and the process prints it for the operator.
    this.#write(FRAMEWORK_CONTEXTS.has(rest.at(-1)) ? 'debug' : 'error', message, rest);
  }

  warn(message: unknown, ...rest: unknown[]): void {
    this.#write('warn', message, rest);
  }

  debug(message: unknown, ...rest: unknown[]): void {
    this.#write('debug', message, rest);
  }

  /** Nest passes the context as the last argument. Errors, and objects whose members become fields, precede it. */
  #write(level: Level, message: unknown, rest: unknown[]): void {
    const context = rest.at(-1);
    const fields: Record<string, unknown> = typeof context === 'string' ? { context } : {};
    for (const extra of [message, ...rest]) Object.assign(fields, fieldsOf(extra));
    const traceId = currentTraceId();
    if (traceId !== undefined) fields['traceId'] = traceId;
    this.#pino[level](fields, textOf(message));
  }
}

/** Node.js and ioredis print warnings as plain lines, which no collector of logs can read. NODE_NO_WARNINGS leaves Node's without a listener. */
export function logWarnings(logger: Logger): void {
  const log = ({ name, message }: Error) => {
    logger.warn(`${name}: ${message}`);
  };
  if (process.listenerCount('warning') > 0) process.removeAllListeners('warning').on('warning', log);
  console.warn = (...texts: unknown[]) => {
    logger.warn(format(...texts));
  };
}

/** A line that cannot be written, such as on a full disk, is lost: the process continues. */
function standardError(): DestinationStream {
  const open = () => {
    const opened = pino.destination({ fd: 2, sync: true });
    // The failed line stays in the buffer of its stream, which would grow with each further line. After EPIPE, pino writes nothing more.
    opened.on('error', ({ code }: NodeJS.ErrnoException) => {
      if (code !== 'EPIPE') current = open();
    });
    return opened;
  };
  let current = open();
  return { write: (line) => current.write(line) };
}

function fieldsOf(extra: unknown): object {
  if (extra instanceof Error) return { err: pino.stdSerializers.err(extra) };
  return typeof extra === 'object' && extra !== null ? extra : {};
}

function textOf(message: unknown): string {
  if (message instanceof Error) return message.message;
  return typeof message === 'string' ? message : JSON.stringify(message);
}

const REPEAT_MS = 600_000;

/** Warns when a failure starts, changes its reason, and every ten minutes. An unreachable server is only a debug line: readiness reports it. */
export class FailureLog {
  #warned: { readonly reason: string; readonly at: number } | undefined;

  constructor(
    private readonly logger: Logger,
    private readonly work: string,
    private readonly nowMs: () => number = () => performance.now(),
  ) {}

  failed(error: unknown): void {
    const reason = reasonOf(error);
    const at = this.nowMs();
    const isKnown = this.#warned?.reason === reason && at - this.#warned.at < REPEAT_MS;
    if (isKnown || isServerAway(error)) {
      this.logger.debug(`${this.work} failed: ${reason}`);
      return;
    }
    this.#warned = { reason, at };
    this.logger.warn(`${this.work} failed: ${reason}`);
  }

  succeeded(): void {
    if (this.#warned === undefined) return;
    this.#warned = undefined;
    this.logger.log(`${this.work} succeeds again`);
  }
}

export interface ReportFields {
  readonly requestId?: string;
  readonly messageId?: string;
}

/** An error without a cause comes from another process, which has logged it, or is a mistake of a client. */
export function reportError(logger: Logger, error: AppError, fields: ReportFields): void {
  const { cause, logLevel, message } = error;
  if (!(cause instanceof Error) || logLevel === 'debug') return;
  if (logLevel === 'error') logger.error(cause, fields);
  else logger.warn(`${message} (${cause.message})`, fields);
}
