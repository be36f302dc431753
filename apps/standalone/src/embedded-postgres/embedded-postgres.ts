import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { ensureCluster, giveToUser, type PostgresOptions, SUPERUSER } from './postgres-cluster.js';
import { Postmaster, stopLeftover } from './postmaster.js';

/** Longest path of a folder in which PostgreSQL can make its socket, in bytes. */
const MAX_SOCKET_FOLDER_BYTES = 85;
/** Small: one process of ours is its only client. */
const SETTINGS = {
  listen_addresses: '',
  max_connections: '50',
  shared_buffers: '64MB',
  unix_socket_permissions: '0700',
  // Statements hold people's names and addresses: its log names the error alone.
  log_error_verbosity: 'terse',
  log_min_error_statement: 'panic',
  log_parameter_max_length_on_error: '0',
  log_timezone: 'UTC',
  timezone: 'UTC',
};
/** Where it ends by itself more often than this within the time, starting it again is no help. */
const MAX_RESTARTS = 5;
const RESTARTS_WITHIN_MS = 60_000;
/** Its own children need a moment to notice that it is gone; until then the cluster is not free. */
const RESTART_DELAY_MS = 500;

/** A PostgreSQL cluster that lives and dies with this process. It listens on a Unix socket only. */
export class EmbeddedPostgres {
  /** Resolves, with the reason, where it has ended by itself and cannot be started again. */
  readonly lost: Promise<Error>;
  readonly #logger = new Logger(EmbeddedPostgres.name);
  #giveUp!: (reason: Error) => void;
  #postmaster: Postmaster | undefined;
  #restarting: Promise<void> | undefined;
  #restartedAt: number[] = [];
  #isStopping = false;
  #socketFolder = '';
  /** A socket folder that is ours to remove; never the cluster's own. */
  #temporaryFolder: string | undefined;

  constructor(private readonly options: PostgresOptions) {
    this.lost = new Promise((resolve) => (this.#giveUp = resolve));
  }

  /** Makes the cluster where there is none, and starts it. @throws StartError */
  async start(): Promise<void> {
    await ensureCluster(this.options);
    await stopLeftover(this.options);
    this.#socketFolder = this.#makeSocketFolder();
    await this.#launch();
  }

  /** Where clients connect. */
  get url(): string {
    const password = encodeURIComponent(this.options.password);
    return `postgres://${SUPERUSER}:${password}@localhost/postgres?host=${encodeURIComponent(this.#socketFolder)}`;
  }

  /** Stops it after it has written everything down. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#postmaster?.stop();
    await this.#restarting;
    if (this.#temporaryFolder !== undefined) rmSync(this.#temporaryFolder, { recursive: true, force: true });
  }

  async #launch(): Promise<void> {
    const postmaster = new Postmaster(this.options, { ...SETTINGS, unix_socket_directories: this.#socketFolder });
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
        this.#giveUp(new Error(`PostgreSQL ends again and again: see ${this.options.logFile}`));
        return;
      }
      this.#logger.warn(`PostgreSQL has ended by itself and is started again: see ${this.options.logFile}`);
      await sleep(RESTART_DELAY_MS);
      if (await this.#isLaunched()) return;
    }
  }

  async #isLaunched(): Promise<boolean> {
    if (this.#isStopping) return false;
    try {
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
    // mkdtemp makes a folder that only its owner can enter.
    this.#temporaryFolder = mkdtempSync(join(tmpdir(), 'gatepost-'));
    giveToUser(this.options, this.#temporaryFolder);
    return this.#temporaryFolder;
  }
}
