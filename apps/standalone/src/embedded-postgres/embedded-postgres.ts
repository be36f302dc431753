import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { ensureCluster, giveToUser, type PostgresOptions, SUPERUSER } from './postgres-cluster.js';
import { Postmaster, stopLeftover } from './postmaster.js';

/** PostgreSQL creates its socket in the folder. */
const MAX_SOCKET_FOLDER_BYTES = 85;
/** Small values: this process is the only client. */
const SETTINGS = {
  listen_addresses: '',
  shared_buffers: '64MB',
  unix_socket_permissions: '0700',
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

  /** Creates the cluster if there is none. @throws StartError */
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

  /** Waits until all data is on disk. */
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
    if (Buffer.byteLength(this.options.folder) <= MAX_SOCKET_FOLDER_BYTES) return this.options.folder;
    // mkdtemp creates a folder that only its owner can enter.
    this.#temporaryFolder = mkdtempSync(join(tmpdir(), 'gatepost-'));
    giveToUser(this.options, this.#temporaryFolder);
    return this.#temporaryFolder;
  }
}
