import type { Server } from 'node:http';
import { ConfigError } from './load-config.js';

/** SIGHUP: its terminal was closed. */
const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** A start that failed for a reason the operator can mend; its message is one line and needs no stack. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/** What `run` needs to know of what it started. */
export interface RunningProcess {
  stop(): Promise<void>;
  /** The port it listens on, for the process that started ours. */
  readonly port?: number;
  /** Resolves, with the reason, where it cannot go on. */
  readonly lost?: Promise<Error>;
}

/**
 * Runs a process from `main.ts`: starts it, stops it on SIGINT, SIGTERM and SIGHUP, and says in plain words why it cannot
 * start. Exit status: 0 after a clean stop, 1 where it could not start, 70 after an internal failure.
 */
export async function run(start: () => Promise<RunningProcess>): Promise<void> {
  // What is written to a terminal that was closed, or to a reader that went away, must not end us half stopped.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const starting = Promise.resolve().then(start);
  let stopping: Promise<void> | undefined;
  const stopOnce = (status: number) => (stopping ??= stop(starting, status));
  for (const signal of STOP_SIGNALS) process.on(signal, () => void stopOnce(0));
  try {
    const { port, lost } = await starting;
    process.send?.({ port }, undefined, undefined, () => undefined);
    void lost?.then((reason) => {
      process.stderr.write(`${reason.message}\n`);
      return stopOnce(70);
    });
  } catch (error) {
    process.stderr.write(`${describe(error)}\n`);
    process.exit(1);
  }
}

async function stop(starting: Promise<RunningProcess>, status: number): Promise<void> {
  try {
    await (await starting).stop();
    process.exit(status);
  } catch (error) {
    process.stderr.write(`${describe(error)}\n`);
    process.exit(70);
  }
}

function describe(error: unknown): string {
  if (error instanceof ConfigError || error instanceof StartError) return error.message;
  if (!(error instanceof Error)) return String(error);
  if ('code' in error && error.code === 'EADDRINUSE' && 'port' in error) {
    return `Port ${String(error.port)} is in use: another server (or another Gatepost) runs there. Choose another with GATEPOST_PORT.`;
  }
  return error.stack ?? error.message;
}

const IDLE_CONNECTION_POLL_MS = 50;
/** As long as a service waits for the work in its hands. */
const DRAIN_LIMIT_MS = 15_000;

/**
 * From now on each answer ends its connection. An entrance that keeps connections so gives them back while it can still open
 * others: whatever it sent on one at the moment in which the server closes it would be lost.
 */
export function endKeptConnections(server: Server): void {
  server.prependListener('request', (_request, response) => {
    response.setHeader('Connection', 'close');
  });
}

/** Refuses new connections. Resolves when those that are open have ended. */
export function stopListening(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => {
      resolve();
    });
  });
}

/**
 * Closes a server while its connections end: one that is busy would be kept alive by its client after its answer, so it goes
 * as soon as it is idle. One that takes its answer too slowly is cut off; it would keep the process for ever.
 */
export async function drainConnections(
  server: Server,
  close: () => Promise<unknown>,
  limitMs = DRAIN_LIMIT_MS,
): Promise<void> {
  const idle = setInterval(() => {
    server.closeIdleConnections();
  }, IDLE_CONNECTION_POLL_MS);
  const limit = setTimeout(() => {
    server.closeAllConnections();
  }, limitMs);
  try {
    await close();
  } finally {
    clearInterval(idle);
    clearTimeout(limit);
  }
}
