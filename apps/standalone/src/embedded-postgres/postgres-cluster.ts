import { execFile } from 'node:child_process';
import { chownSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { StartError } from '#bootstrap';
import { messageOf } from '#errors';
import { syncFolder } from '../data-folder.js';
import type { PostgresBinaries, PostgresUser } from './postgres-files.js';

export const SUPERUSER = 'gatepost';
/** The whole environment: the caller's variables such as PGOPTIONS or LC_COLLATE must not change the cluster. */
const ENVIRONMENT = { LC_ALL: 'C', TZ: 'UTC', PATH: '/usr/local/bin:/usr/bin:/bin' };
const execute = promisify(execFile);

export interface PostgresOptions {
  readonly binaries: PostgresBinaries;
  readonly folder: string;
  readonly password: string;
  readonly logFile: string;
  readonly user: PostgresUser | undefined;
  readonly connections: number;
}

/**
 * Creates the cluster beside its empty folder and renames it: an interrupted start leaves no incomplete cluster, and no file is lost.
 * @throws StartError if the folder contains other files, or PostgreSQL cannot be set up
 */
export async function ensureCluster(options: PostgresOptions): Promise<void> {
  if (hasCluster(options.folder)) return;
  // Left by an interrupted start.
  const partial = `${options.folder}.new`;
  try {
    rmSync(partial, { recursive: true, force: true });
    mkdirSync(partial, { mode: 0o700 });
    giveToUser(options, partial);
    await initialise(options, partial);
    renameSync(partial, options.folder);
    syncFolder(dirname(options.folder));
  } catch (cause) {
    rmSync(partial, { recursive: true, force: true });
    throw new StartError(`PostgreSQL could not be set up: ${messageOf(cause)}`, { cause });
  }
}

function hasCluster(folder: string): boolean {
  const names = namesIn(folder);
  if (names.includes('PG_VERSION')) return true;
  if (names.length === 0) return false;
  throw new StartError(
    `The database folder ${folder} is not empty, but has no PG_VERSION: it is not a complete PostgreSQL cluster, such as after a partly restored backup. Restore all of it, or move it away to start with an empty database.`,
  );
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (cause) {
    throw new StartError(`The database folder ${folder} cannot be read: ${messageOf(cause)}`, { cause });
  }
}

async function initialise(options: PostgresOptions, folder: string): Promise<void> {
  const passwordFolder = mkdtempSync(join(tmpdir(), 'gatepost-init-'));
  const passwordFile = join(passwordFolder, 'password');
  try {
    writeFileSync(passwordFile, `${options.password}\n`, { mode: 0o600 });
    giveToUser(options, passwordFile, passwordFolder);
    await execute(
      options.binaries.initdb,
      [
        '-D',
        folder,
        '-U',
        SUPERUSER,
        `--pwfile=${passwordFile}`,
        '--auth=scram-sha-256',
        '--encoding=UTF8',
        '--locale=C',
      ],
      spawnOptions(options),
    );
  } finally {
    rmSync(passwordFolder, { recursive: true, force: true });
  }
}

/** The working folder must be accessible to the user of PostgreSQL's programs. */
export function spawnOptions({ user }: PostgresOptions): { cwd: string; env: Record<string, string> } {
  return { cwd: '/', env: ENVIRONMENT, ...user };
}

export function giveToUser({ user }: PostgresOptions, ...paths: string[]): void {
  if (user !== undefined) for (const path of paths) chownSync(path, user.uid, user.gid);
}
