import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Logger } from '@nestjs/common';
import { StartError } from '#bootstrap';
import { ensureCluster, giveToUser, type PostgresOptions, spawnOptions, SUPERUSER } from './postgres-files.js';

const execute = promisify(execFile);
const POLL_MS = 20;
const LOCK_FILE = 'postmaster.pid';
/** The beginning of a PostgreSQL server's command line. */
const SERVER = /^(?:\S*\/)?(?:postgres|postmaster)(?:[\s:]|$)/;
/** PostgreSQL writes its state to the eighth line of postmaster.pid. */
const STATE_LINE = 7;
/** PostgreSQL creates its socket in the folder. */
const MAX_SOCKET_FOLDER_BYTES = 85;
/** Small values: this process is the only client. */
const SETTINGS = {
  listen_addresses: '',
  shared_buffers: '64MB',
  unix_socket_permissions: '0700',
  // The client logs the errors of its statements: here, refused sign-ups would let the log grow without bound.
  log_min_messages: 'log',
  // Statements contain names and addresses of users: the log must contain the error only.
  log_error_verbosity: 'terse',
  log_min_error_statement: 'panic',
  log_parameter_max_length_on_error: '0',
  log_timezone: 'UTC',
  timezone: 'UTC',
};
/** Unexpected ends within `RESTARTS_WITHIN_MS` after which another restart does not help. */
const MAX_RESTARTS = 5;
const RESTARTS_WITHIN_MS = 60_000;
/** Child processes need a moment to notice the end; until then the cluster is locked. */
const RESTART_DELAY_MS = 500;

/** Runs as long as this process, and listens on a Unix socket only. */
export class EmbeddedPostgres {
  /** Resolves with the reason when PostgreSQL has ended unexpectedly and cannot be restarted. */
  readonly lost: Promise<Error>;
  readonly #logger = new Logger(EmbeddedPostgres.name);
  #giveUp!: (reason: Error) => void;
  #postmaster: Postmaster | undefined;
  #restarting: Promise<void> | undefined;
  #restartedAt: number[] = [];
  #isStopping = false;
  #socketFolder = '';
  /** A socket folder to remove at the end; never the cluster's own. */
  #temporaryFolder: string | undefined;

  constructor(private readonly options: PostgresOptions) {
    this.lost = new Promise((resolve) => (this.#giveUp = resolve));
  }

  async start(): Promise<void> {
    await ensureCluster(this.options);
    await stopLeftover(this.options);
    this.#socketFolder = this.#makeSocketFolder();
    await this.#launch();
  }

  get url(): string {
    const password = encodeURIComponent(this.options.password);
    return `postgres://${SUPERUSER}:${password}@localhost/postgres?host=${encodeURIComponent(this.#socketFolder)}`;
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#postmaster?.stop();
    await this.#restarting;
    if (this.#temporaryFolder !== undefined) rmSync(this.#temporaryFolder, { recursive: true, force: true });
  }

  async #launch(): Promise<void> {
    const postmaster = new Postmaster(this.options, {
      ...SETTINGS,
      max_connections: String(this.options.connections),
      unix_socket_directories: this.#socketFolder,
    });
    this.#postmaster = postmaster;
    try {
      await postmaster.untilReady();
    } catch (error) {
      await postmaster.stop();
      throw error;
    }
    void postmaster.exited.then(() => {
      this.#restarting = this.#restart();
    });
  }

  async #restart(): Promise<void> {
    while (!this.#isStopping) {
      if (!this.#mayRestart()) {
        this.#giveUp(new Error(`PostgreSQL ends repeatedly: see ${this.options.logFile}`));
        return;
      }
      this.#logger.warn(`PostgreSQL has ended unexpectedly and is restarted: see ${this.options.logFile}`);
      await sleep(RESTART_DELAY_MS);
      if (await this.#isLaunched()) return;
    }
  }

  async #isLaunched(): Promise<boolean> {
    try {
      await stopLeftover(this.options);
      if (this.#isStopping) return false;
      await this.#launch();
      return true;
    } catch {
      return false;
    }
  }

  #mayRestart(): boolean {
    const now = performance.now();
    this.#restartedAt = [...this.#restartedAt.filter((at) => now - at < RESTARTS_WITHIN_MS), now];
    return this.#restartedAt.length <= MAX_RESTARTS;
  }

  #makeSocketFolder(): string {
    const { folder } = this.options;
    // The setting is a list: commas separate its folders, which quotation marks can enclose.
    if (Buffer.byteLength(folder) <= MAX_SOCKET_FOLDER_BYTES && !/[",]/.test(folder)) return folder;
    this.#temporaryFolder = mkdtempSync(join(tmpdir(), 'gatepost-'));
    giveToUser(this.options, this.#temporaryFolder);
    return this.#temporaryFolder;
  }
}

interface StartLimits {
  /** Until the server reports that it starts. */
  readonly answerMs: number;
  /** Until it accepts connections. After a crash it recovers first, and another start would begin the recovery anew. */
  readonly recoveryMs: number;
  readonly progressMs: number;
}

const LIMITS: StartLimits = { answerMs: 30_000, recoveryMs: 60 * 60 * 1_000, progressMs: 30_000 };

export class Postmaster {
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
      // A separate session: Ctrl-C must reach only this process, which stops PostgreSQL after the last request.
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

  /** Waits until all data is on disk ("fast" shutdown). */
  async stop(): Promise<void> {
    this.#child.kill('SIGINT');
    await this.exited;
  }

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

/** Stops a server that survived its parent, or removes a stale lock file, whose id another process may have by now. PostgreSQL guards the data itself. */
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

/** A reused id can belong to an unrelated process. */
export async function isServerOf(folder: string, pid: number): Promise<boolean> {
  return (await commandLine(pid)).includes(` -D ${folder} `);
}

async function commandLine(pid: number): Promise<string> {
  if (!Number.isInteger(pid) || pid <= 1) return '';
  try {
    if (process.platform === 'linux') return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
    return (await execute('ps', ['-ww', '-o', 'command=', '-p', String(pid)])).stdout;
  } catch {
    return '';
  }
}
