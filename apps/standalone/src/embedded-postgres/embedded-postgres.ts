import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { StartError } from '#bootstrap';
import type { PostgresBinaries } from './postgres-binaries.js';
import type { PostgresUser } from './postgres-user.js';

const execute = promisify(execFile);

const SUPERUSER = 'gatepost';
const START_TIMEOUT_MS = 30_000;
const POLL_MS = 20;
/** PostgreSQL writes its state into the eighth line of postmaster.pid. */
const STATE_LINE = 7;
/** Longest path of a folder in which PostgreSQL can make its socket, in bytes. */
const MAX_SOCKET_FOLDER_BYTES = 85;
/** Small: one process of ours is its only client. */
const SETTINGS = {
  listen_addresses: '',
  max_connections: '50',
  shared_buffers: '64MB',
  unix_socket_permissions: '0700',
  log_timezone: 'UTC',
  timezone: 'UTC',
};
/** All that its programs see: variables such as PGOPTIONS or LC_COLLATE of whoever starts us must not change the cluster. */
const ENVIRONMENT = { LC_ALL: 'C', TZ: 'UTC', PATH: '/usr/local/bin:/usr/bin:/bin' };

export interface EmbeddedPostgresOptions {
  readonly binaries: PostgresBinaries;
  /** The cluster's own folder. */
  readonly folder: string;
  readonly password: string;
  readonly logFile: string;
  readonly user: PostgresUser | undefined;
}

/** A PostgreSQL cluster that lives and dies with this process. It listens on a Unix socket only. */
export class EmbeddedPostgres {
  #process: ChildProcess | undefined;
  #socketFolder: string | undefined;
  /** A socket folder that is ours to remove; never the cluster's own. */
  #temporaryFolder: string | undefined;

  constructor(private readonly options: EmbeddedPostgresOptions) {}

  /** Makes the cluster where there is none, and starts it. @throws StartError */
  async start(): Promise<void> {
    if (!existsSync(join(this.options.folder, 'PG_VERSION'))) await this.#initialise();
    await this.#stopLeftover();
    this.#socketFolder = this.#makeSocketFolder();
    const settings = { ...SETTINGS, unix_socket_directories: this.#socketFolder };
    const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    // A session of its own: Ctrl-C in the terminal must reach us alone, who stop it after the last request.
    this.#process = spawn(this.options.binaries.postgres, ['-D', this.options.folder, ...flags], {
      ...this.#spawnOptions(),
      detached: true,
      stdio: ['ignore', 'ignore', openSync(this.options.logFile, 'a', 0o600)],
    });
    await this.#untilReady(this.#process);
  }

  /** Where clients connect. */
  get url(): string {
    const password = encodeURIComponent(this.options.password);
    return `postgres://${SUPERUSER}:${password}@localhost/postgres?host=${encodeURIComponent(this.#socketFolder ?? '')}`;
  }

  /** Stops it after it has written everything down ("fast" shutdown). */
  async stop(): Promise<void> {
    const child = this.#process;
    if (child?.exitCode === null && child.signalCode === null) {
      const exited = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGINT');
      await exited;
    }
    if (this.#temporaryFolder !== undefined) rmSync(this.#temporaryFolder, { recursive: true, force: true });
  }

  async #initialise(): Promise<void> {
    const passwordFile = join(mkdtempSync(join(tmpdir(), 'gatepost-init-')), 'password');
    writeFileSync(passwordFile, `${this.options.password}\n`, { mode: 0o600 });
    this.#giveToUser(passwordFile, join(passwordFile, '..'));
    try {
      await execute(
        this.options.binaries.initdb,
        [
          '-D',
          this.options.folder,
          '-U',
          SUPERUSER,
          `--pwfile=${passwordFile}`,
          '--auth=scram-sha-256',
          '--encoding=UTF8',
          '--locale=C',
        ],
        this.#spawnOptions(),
      );
    } catch (cause) {
      rmSync(this.options.folder, { recursive: true, force: true });
      throw new StartError(
        `PostgreSQL could not be set up: ${cause instanceof Error ? cause.message : String(cause)}`,
        { cause },
      );
    } finally {
      rmSync(join(passwordFile, '..'), { recursive: true, force: true });
    }
  }

  /** A server whose parent was killed goes on alone: it is stopped, so that ours can have the data. */
  async #stopLeftover(): Promise<void> {
    const [pid] = this.#postmasterLines();
    if (pid === undefined || !isPostgres(Number(pid))) return;
    await execute(
      this.options.binaries.pgCtl,
      ['stop', '-D', this.options.folder, '-m', 'fast', '-w'],
      this.#spawnOptions(),
    );
  }

  #makeSocketFolder(): string {
    if (Buffer.byteLength(this.options.folder) <= MAX_SOCKET_FOLDER_BYTES) return this.options.folder;
    // mkdtemp makes a folder that only its owner can enter.
    this.#temporaryFolder = mkdtempSync(join(tmpdir(), 'gatepost-'));
    this.#giveToUser(this.#temporaryFolder);
    return this.#temporaryFolder;
  }

  #giveToUser(...paths: string[]): void {
    const { user } = this.options;
    if (user !== undefined) for (const path of paths) chownSync(path, user.uid, user.gid);
  }

  async #untilReady(child: ChildProcess): Promise<void> {
    let failure: Error | undefined;
    child.once('error', (error) => {
      failure = error;
    });
    const deadline = Date.now() + START_TIMEOUT_MS;
    while (Date.now() < deadline) {
      const lines = this.#postmasterLines();
      if (Number(lines[0]) === child.pid && lines[STATE_LINE]?.trim() === 'ready') return;
      if (failure !== undefined || child.exitCode !== null) break;
      await sleep(POLL_MS);
    }
    throw new StartError(`PostgreSQL did not start: ${failure?.message ?? `see ${this.options.logFile}`}`);
  }

  #postmasterLines(): string[] {
    try {
      return readFileSync(join(this.options.folder, 'postmaster.pid'), 'utf8').split('\n');
    } catch {
      return [];
    }
  }

  #spawnOptions() {
    const { user } = this.options;
    // Its working folder must be one that its user can enter.
    return { cwd: '/', env: ENVIRONMENT, ...user };
  }
}

/** Whether the process id is a PostgreSQL server's, and not that of a process which got the number later. */
function isPostgres(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === 'postgres';
  } catch {
    // No /proc (macOS): the id is alive and its pid file is ours.
    return process.platform !== 'linux';
  }
}
