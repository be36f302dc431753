import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Logger } from '@nestjs/common';
import { StartError } from '#bootstrap';
import { type PostgresOptions, spawnOptions } from './postgres-cluster.js';

const execute = promisify(execFile);
const POLL_MS = 20;
const LOCK_FILE = 'postmaster.pid';
/** The beginning of the command line of a PostgreSQL server. */
const SERVER = /^(?:\S*\/)?(?:postgres|postmaster)(?:[\s:]|$)/;
/** PostgreSQL writes its state to the eighth line of postmaster.pid. */
const STATE_LINE = 7;

/** How long a start may take, in milliseconds. */
interface StartLimits {
  /** Until the server reports that it starts. */
  readonly answerMs: number;
  /** Until it accepts connections. After a crash it recovers first, and another start would begin the recovery anew. */
  readonly recoveryMs: number;
  /** Between two lines of progress. */
  readonly progressMs: number;
}

const LIMITS: StartLimits = { answerMs: 30_000, recoveryMs: 60 * 60 * 1_000, progressMs: 30_000 };

/** One run of PostgreSQL's server process. */
export class Postmaster {
  /** Resolves when the process has ended for any reason. */
  readonly exited: Promise<void>;
  readonly #logger = new Logger(Postmaster.name);
  readonly #child: ChildProcess;
  #isGone = false;
  #failure: Error | undefined;

  constructor(
    private readonly options: PostgresOptions,
    settings: Readonly<Record<string, string>>,
    private readonly limits = LIMITS,
  ) {
    const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const log = openSync(options.logFile, 'a', 0o600);
    try {
      // A separate session: Ctrl-C in the terminal must reach only this process, which stops PostgreSQL after the last request.
      this.#child = spawn(options.binaries.postgres, ['-D', options.folder, ...flags], {
        ...spawnOptions(options),
        detached: true,
        stdio: ['ignore', 'ignore', log],
      });
    } finally {
      closeSync(log);
    }
    this.exited = this.#untilGone();
  }

  /** Logs the progress of a recovery. @throws StartError if the process ends, or takes too long */
  async untilReady(): Promise<void> {
    const { answerMs, recoveryMs, progressMs } = this.limits;
    const beganAt = performance.now();
    let [waitedMs, limitMs, reportMs] = [0, answerMs, progressMs];
    while (waitedMs < limitMs && !this.#isGone) {
      const state = this.#state();
      if (state === 'ready') return;
      if (state === 'starting') limitMs = recoveryMs;
      if (state === 'starting' && waitedMs >= reportMs) reportMs = this.#report(waitedMs) + progressMs;
      await sleep(POLL_MS);
      waitedMs = performance.now() - beganAt;
    }
    throw new StartError(`PostgreSQL did not start: ${this.#failure?.message ?? `see ${this.options.logFile}`}`);
  }

  /** Stops the process after it has written all data to disk ("fast" shutdown). */
  async stop(): Promise<void> {
    this.#child.kill('SIGINT');
    await this.exited;
  }

  /** @returns the state that the process reports; undefined while it has reported none */
  #state(): string | undefined {
    const lines = postmasterLines(this.options.folder);
    return Number(lines[0]) === this.#child.pid ? lines[STATE_LINE]?.trim() : undefined;
  }

  #report(waitedMs: number): number {
    const seconds = Math.round(waitedMs / 1_000);
    this.#logger.warn(
      `PostgreSQL has been starting for ${seconds} s, probably after a crash: see ${this.options.logFile}`,
    );
    return waitedMs;
  }

  #untilGone(): Promise<void> {
    return new Promise((resolve) => {
      const gone = (failure?: Error) => {
        this.#isGone = true;
        this.#failure = failure;
        resolve();
      };
      this.#child.once('exit', () => {
        gone();
      });
      // A process that could not be started emits no exit.
      this.#child.once('error', gone);
    });
  }
}

/**
 * A server survives when its parent is killed: it is stopped, so that a new one can use the data. If it was killed too, its lock file
 * is left. Its id can belong to another process by now, in a container to a thread of this process or to the next server itself:
 * PostgreSQL would not start, or seem to be ready at once. So the file is removed. PostgreSQL still refuses to start beside processes
 * that use the data, because their shared memory is found by the folder.
 */
export async function stopLeftover(options: PostgresOptions): Promise<void> {
  const pid = Number(postmasterLines(options.folder)[0]);
  if (await isServerOf(options.folder, pid))
    await execute(options.binaries.pgCtl, ['stop', '-D', options.folder, '-m', 'fast', '-w'], spawnOptions(options));
  else if (!SERVER.test(await commandLine(pid))) rmSync(join(options.folder, LOCK_FILE), { force: true });
}

function postmasterLines(folder: string): string[] {
  try {
    return readFileSync(join(folder, LOCK_FILE), 'utf8').split('\n');
  } catch {
    return [];
  }
}

/** Whether the process is a server of this folder, and not an unrelated process with a reused id. */
export async function isServerOf(folder: string, pid: number): Promise<boolean> {
  return (await commandLine(pid)).includes(` -D ${folder} `);
}

/** Empty where no process has the id. */
async function commandLine(pid: number): Promise<string> {
  if (!Number.isInteger(pid) || pid <= 1) return '';
  try {
    if (process.platform === 'linux') return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
    return (await execute('ps', ['-ww', '-o', 'command=', '-p', String(pid)])).stdout;
  } catch {
    return '';
  }
}
