import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { makeFallbackFolder, ROOT_ONLY_FALLBACK } from './embedded-postgres/postgres-binaries.js';
import { canReach, type PostgresUser } from './embedded-postgres/postgres-user.js';

const SECRET_BYTES = 32;

/** The folder in which the standalone server keeps everything. */
export class DataFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = resolve(path);
    if (existsSync(this.path)) return;
    mkdirSync(this.path, { recursive: true });
    // As root, PostgreSQL's user has to pass through to its own folder; the files beside it stay ours alone.
    chmodSync(this.path, process.getuid?.() === 0 ? 0o711 : 0o700);
  }

  file(name: string): string {
    return join(this.path, name);
  }

  /** A random text that is made once and kept in a file only we can read. */
  keptSecret(name: string): string {
    const file = this.file(name);
    if (!existsSync(file))
      writeFileSync(file, `${randomBytes(SECRET_BYTES).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' });
    return readFileSync(file, 'utf8').trim();
  }

  /**
   * The database's folder: `postgres` in here. As root, where PostgreSQL's user cannot come here, a folder under
   * /var/lib/gatepost to which `postgres` is a link, so that the data still belong to this folder.
   */
  databaseFolder(user: PostgresUser | undefined): string {
    const folder = this.file('postgres');
    if (!isThere(folder)) this.#makeDatabaseFolder(folder, user);
    return realpathSync(folder);
  }

  #makeDatabaseFolder(folder: string, user: PostgresUser | undefined): void {
    if (user === undefined) {
      mkdirSync(folder, { mode: 0o700 });
      return;
    }
    const isReachable = canReach(user, this.path);
    const home = isReachable ? folder : join(ROOT_ONLY_FALLBACK, `data-${randomBytes(4).toString('hex')}`);
    if (!isReachable) makeFallbackFolder();
    mkdirSync(home, { mode: 0o700 });
    chownSync(home, user.uid, user.gid);
    if (!isReachable) symlinkSync(home, folder);
  }
}

function isThere(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch {
    return false;
  }
}
