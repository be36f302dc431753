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
/** All that its programs see: variables such as PGOPTIONS or LC_COLLATE of whoever starts us must not change the cluster. */
const ENVIRONMENT = { LC_ALL: 'C', TZ: 'UTC', PATH: '/usr/local/bin:/usr/bin:/bin' };
const execute = promisify(execFile);

export interface PostgresOptions {
  readonly binaries: PostgresBinaries;
  /** The cluster's own folder. */
  readonly folder: string;
  readonly password: string;
  readonly logFile: string;
  readonly user: PostgresUser | undefined;
}

/**
 * Makes the cluster where its folder is empty. It is made beside its place and moved there whole, so that a start that was
 * cut leaves no half cluster, and nothing that stood there is ever removed.
 * @throws StartError where the folder holds something else, or PostgreSQL cannot be set up
 */
export async function ensureCluster(options: PostgresOptions): Promise<void> {
  if (hasCluster(options.folder)) return;
  // Ours by its name: what an earlier start did not finish.
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
    `The database folder ${folder} is not empty, but has no PG_VERSION: it is not a whole PostgreSQL cluster, such as after a backup was put back in part. Put all of it back, or move it away to begin with an empty database.`,
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

/** How each of its programs is run: its working folder must be one that its user can enter. */
export function spawnOptions({ user }: PostgresOptions): { cwd: string; env: Record<string, string> } {
  return { cwd: '/', env: ENVIRONMENT, ...user };
}

export function giveToUser({ user }: PostgresOptions, ...paths: string[]): void {
  if (user !== undefined) for (const path of paths) chownSync(path, user.uid, user.gid);
}
