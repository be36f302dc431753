import { randomBytes } from 'node:crypto';
import {
  accessSync,
  chmodSync,
  chownSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { StartError } from '#bootstrap';
import { makeFallbackFolder, ROOT_ONLY_FALLBACK } from './embedded-postgres/postgres-binaries.js';
import { canReach, type PostgresUser } from './embedded-postgres/postgres-user.js';
import { keptSecret, keptSecrets, swapKeptSecret } from './kept-secret.js';
import { syncFolder } from './sync-folder.js';

const SECRET = 'secret';
const ACCEPTED_SECRETS = 'accepted-secrets';

/** The folder in which the standalone server keeps everything. */
export class DataFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = resolve(path);
    try {
      if (!existsSync(this.path)) this.#make();
      accessSync(this.path, constants.R_OK | constants.W_OK | constants.X_OK);
    } catch (cause) {
      const reason = (cause as NodeJS.ErrnoException).code ?? String(cause);
      throw new StartError(
        `The data folder ${this.path} cannot be used: ${reason}. Choose another with GATEPOST_DATA_DIR.`,
        { cause },
      );
    }
  }

  file(name: string): string {
    return join(this.path, name);
  }

  /** What seals, where the environment names nothing else. */
  secret(): string {
    return this.keptSecret(SECRET);
  }

  /** A random text that is made once and kept in a file only we can read. */
  keptSecret(name: string): string {
    return keptSecret(this.file(name));
  }

  /** Secrets that were kept before, and still open what they have sealed. */
  acceptedSecrets(): string[] {
    return keptSecrets(this.file(ACCEPTED_SECRETS));
  }

  /** Makes a new secret from the next start on, and accepts the one that is kept now. */
  swapSecret(): void {
    swapKeptSecret(this.file(SECRET), this.file(ACCEPTED_SECRETS));
  }

  forgetAcceptedSecrets(): void {
    rmSync(this.file(ACCEPTED_SECRETS), { force: true });
    syncFolder(this.path);
  }

  /**
   * The database's folder: `postgres` in here. As root, where PostgreSQL's user cannot come here, a folder under
   * /var/lib/gatepost to which `postgres` is a link, so that the data still belong to this folder.
   */
  databaseFolder(user: PostgresUser | undefined): string {
    const folder = this.file('postgres');
    if (!isThere(folder)) this.#makeDatabaseFolder(folder, user);
    // A link to nothing is not made good silently: the data it led to may only be elsewhere for now.
    if (existsSync(folder)) return realpathSync(folder);
    throw new StartError(
      `${folder} is a link to ${readlinkSync(folder)}, which is not there: put that folder back, or remove the link to begin with an empty database.`,
    );
  }

  #make(): void {
    makeFolders(this.path);
    // As root, PostgreSQL's user has to pass through to its own folder; the files beside it stay ours alone.
    chmodSync(this.path, process.getuid?.() === 0 ? 0o711 : 0o700);
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

/** Node's own recursive mkdir never ends where a file system such as /proc takes no folders. */
function makeFolders(path: string): void {
  if (!existsSync(dirname(path))) makeFolders(dirname(path));
  mkdirSync(path);
}

function isThere(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch {
    return false;
  }
}
