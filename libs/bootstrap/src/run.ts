import { ConfigError } from '#config';
import type { RunningService } from './start-service.js';

const STOP_SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** A start that failed for a reason the operator can mend; its message is one line and needs no stack. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/**
 * Runs a process from `main.ts`: starts it, stops it on SIGINT and SIGTERM, and says in plain words why it cannot start.
 * Exit status: 0 after a clean stop, 1 where it could not start, 70 after an internal failure.
 */
export async function run(start: () => Promise<Pick<RunningService, 'stop'>>): Promise<void> {
  const starting = Promise.resolve().then(start);
  let stopping: Promise<void> | undefined;
  for (const signal of STOP_SIGNALS) {
    process.on(signal, () => {
      stopping ??= stop(starting);
    });
  }
  try {
    await starting;
  } catch (error) {
    process.stderr.write(`${describe(error)}\n`);
    process.exit(1);
  }
}

async function stop(starting: Promise<Pick<RunningService, 'stop'>>): Promise<void> {
  try {
    await (await starting).stop();
    process.exit(0);
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
