import type { LoggerService } from '@nestjs/common';
import { pino, type Logger as Pino, type LoggerOptions } from 'pino';
import { currentTraceId } from './tracing/tracing.js';

type Level = 'debug' | 'info' | 'warn' | 'error';

/** Nest tells every module and route at the start; that interests nobody but who looks for a fault. */
const FRAMEWORK_CONTEXTS = new Set<unknown>([
  'InstanceLoader',
  'NestApplication',
  'NestFactory',
  'NestMicroservice',
  'RouterExplorer',
  'RoutesResolver',
]);

/** Nest's logger as JSON lines: one object per line with service and context, and a request id where the caller gives one; the id of its trace where it has one. */
export class JsonLogger implements LoggerService {
  readonly #pino: Pino;

  constructor(service: string, level: Level) {
    const options: LoggerOptions = {
      level,
      base: { service },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    };
    this.#pino = pino(options, pino.destination({ fd: 2, sync: true }));
  }

  log(message: unknown, ...rest: unknown[]): void {
    this.#write(FRAMEWORK_CONTEXTS.has(rest.at(-1)) ? 'debug' : 'info', message, rest);
  }

  error(message: unknown, ...rest: unknown[]): void {
    // What goes wrong at a start is thrown as well, and told there in words for the operator.
    this.#write(FRAMEWORK_CONTEXTS.has(rest.at(-1)) ? 'debug' : 'error', message, rest);
  }

  warn(message: unknown, ...rest: unknown[]): void {
    this.#write('warn', message, rest);
  }

  debug(message: unknown, ...rest: unknown[]): void {
    this.#write('debug', message, rest);
  }

  /** Nest passes the context as the last argument; before it come errors, and objects whose members become fields. */
  #write(level: Level, message: unknown, rest: unknown[]): void {
    const context = rest.at(-1);
    const fields: Record<string, unknown> = typeof context === 'string' ? { context } : {};
    for (const extra of [message, ...rest]) Object.assign(fields, fieldsOf(extra));
    const traceId = currentTraceId();
    if (traceId !== undefined) fields['traceId'] = traceId;
    this.#pino[level](fields, textOf(message));
  }
}

function fieldsOf(extra: unknown): object {
  if (extra instanceof Error) return { err: pino.stdSerializers.err(extra) };
  return typeof extra === 'object' && extra !== null ? extra : {};
}

function textOf(message: unknown): string {
  if (message instanceof Error) return message.message;
  return typeof message === 'string' ? message : JSON.stringify(message);
}
