import { randomBytes } from 'node:crypto';
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { statfs } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { StartError } from '#bootstrap';
import { messageOf } from '#errors';

const SECRET = 'secret';
const DATABASE_PASSWORD = 'postgres-password';
const ACCEPTED_SECRETS = 'accepted-secrets';
const SECRET_BYTES = 32;
/** A segment of PostgreSQL's log. Without room for one PostgreSQL ends. */
const LEAST_ROOM_MIB = 16;
const MIB = 1024 * 1024;
const SECRET_LENGTH = Math.ceil((SECRET_BYTES * 8) / 6);

export class DataFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = resolve(path);
    try {
      if (!existsSync(this.path)) this.#make();
      accessSync(`${this.path}/`, constants.R_OK | constants.W_OK | constants.X_OK);
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

  secret(): string {
    return storedSecret(this.file(SECRET));
  }

  databasePassword(): string {
    return storedSecret(this.file(DATABASE_PASSWORD));
  }

  /** For a folder with a database: new secrets would fit neither it nor its sealed values. @throws StartError */
  assertComplete(isSecretGiven: boolean): void {
    const [password, secret] = [this.file(DATABASE_PASSWORD), this.file(SECRET)];
    if (!existsSync(password))
      throw new StartError(`The password of the database is missing: restore ${password} from a backup.`);
    if (!isSecretGiven && !existsSync(secret))
      throw new StartError(
        `The secret that seals stored values is missing: restore ${secret} from a backup, or set GATEPOST_SECRET to it.`,
      );
  }

  acceptedSecrets(): string[] {
    return storedSecrets(this.file(ACCEPTED_SECRETS));
  }

  swapSecret(): void {
    swapStoredSecret(this.file(SECRET), this.file(ACCEPTED_SECRETS));
  }

  forgetAcceptedSecrets(): void {
    rmSync(this.file(ACCEPTED_SECRETS), { force: true });
    syncFolder(this.path);
  }

  /** @throws Error where the folder of the database has little room left; some file systems do not say */
  async assertRoom(leastMib = LEAST_ROOM_MIB): Promise<void> {
    const path = this.file('postgres');
    const { bavail, blocks, bsize } = await statfs(path);
    const freeMib = Math.floor((bavail * bsize) / MIB);
    if (blocks > 0 && freeMib < leastMib)
      throw new Error(`${freeMib} MiB are free for ${path}: free ${leastMib} MiB or more`);
  }

  #make(): void {
    makeFolders(this.path);
    // As root, PostgreSQL's user must be able to reach its own folder; the other files stay private.
    chmodSync(this.path, process.getuid?.() === 0 ? 0o711 : 0o700);
  }
}

/** Node's recursive mkdir never returns on a file system such as /proc, which accepts no folders. */
function makeFolders(path: string): void {
  if (!existsSync(dirname(path))) makeFolders(dirname(path));
  mkdirSync(path);
}

/** Without it a power cut could lose a new file name, even if the file's content is on disk. */
export function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Generated once. @throws StartError if the file is truncated: values sealed with the secret could not be opened */
export function storedSecret(file: string): string {
  if (!existsSync(file)) make(file);
  const secret = readFileSync(file, 'utf8').trim();
  if (secret.length >= SECRET_LENGTH) return secret;
  throw new StartError(
    `The secret in ${file} is truncated: restore the file from a backup. If there are no data yet, remove it; a new one is generated.`,
  );
}

function newSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url');
}

export function storedSecrets(file: string): string[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

/** Writes the old secret to the other file first: it is always in at least one of them. A failure, as on a full disk, changes nothing. */
export function swapStoredSecret(file: string, acceptedFile: string): void {
  const old = readFileSync(file, 'utf8').trim();
  try {
    replace(acceptedFile, old);
    replace(file, newSecret());
  } catch (error) {
    if (readFileSync(file, 'utf8').trim() === old) rmSync(acceptedFile, { force: true });
    throw error;
  }
}

function replace(file: string, secret: string): void {
  const partial = `${file}.${process.pid}`;
  try {
    writeFileSync(partial, `${secret}\n`, { mode: 0o600, flush: true });
    renameSync(partial, file);
  } finally {
    rmSync(partial, { force: true });
  }
  syncFolder(dirname(file));
}

/** Creates the file atomically and synced; a file of another process stays. */
function make(file: string): void {
  const partial = `${file}.${process.pid}`;
  try {
    writeFileSync(partial, `${newSecret()}\n`, { mode: 0o600, flush: true });
    linkSync(partial, file);
    syncFolder(dirname(file));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw notMade(file, error);
  } finally {
    rmSync(partial, { force: true });
  }
}

function notMade(file: string, cause: unknown): StartError {
  return new StartError(`The secret ${file} could not be created: ${messageOf(cause)}`, { cause });
}
