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
import { dirname, join, resolve } from 'node:path';
import { StartError } from '#bootstrap';
import { messageOf } from '#errors';

const SECRET = 'secret';
const ACCEPTED_SECRETS = 'accepted-secrets';
const SECRET_BYTES = 32;
const SECRET_LENGTH = Math.ceil((SECRET_BYTES * 8) / 6);

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
    return this.storedSecret(SECRET);
  }

  /** A random text that is made once and kept in a file only we can read. */
  storedSecret(name: string): string {
    return storedSecret(this.file(name));
  }

  /** Secrets that were kept before, and still open what they have sealed. */
  acceptedSecrets(): string[] {
    return storedSecrets(this.file(ACCEPTED_SECRETS));
  }

  /** Makes a new secret from the next start on, and accepts the one that is kept now. */
  swapSecret(): void {
    swapStoredSecret(this.file(SECRET), this.file(ACCEPTED_SECRETS));
  }

  forgetAcceptedSecrets(): void {
    rmSync(this.file(ACCEPTED_SECRETS), { force: true });
    syncFolder(this.path);
  }

  #make(): void {
    makeFolders(this.path);
    // As root, PostgreSQL's user has to pass through to its own folder; the files beside it stay ours alone.
    chmodSync(this.path, process.getuid?.() === 0 ? 0o711 : 0o700);
  }
}

/** Node's own recursive mkdir never ends where a file system such as /proc takes no folders. */
function makeFolders(path: string): void {
  if (!existsSync(dirname(path))) makeFolders(dirname(path));
  mkdirSync(path);
}

/** Returns when the names in the folder are on the disk: a new one could be lost in a power cut, whatever its file holds. */
export function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * A random text that is made once and kept in a file only we can read.
 * @throws StartError where the file holds less than was once written: what was sealed with it could not be opened
 */
export function storedSecret(file: string): string {
  if (!existsSync(file)) make(file);
  const secret = readFileSync(file, 'utf8').trim();
  if (secret.length >= SECRET_LENGTH) return secret;
  throw new StartError(
    `The secret in ${file} is cut off: put the file back from a backup. Where there are no data yet, remove it; a new one will be made.`,
  );
}

/** A random text to seal with. */
function newSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url');
}

/** Secrets that a file holds, one in a line; none where it is not there. */
export function storedSecrets(file: string): string[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

/** Puts a new secret in the file, and the one that was there into another. At no moment is it in neither. */
export function swapStoredSecret(file: string, acceptedFile: string): void {
  replace(acceptedFile, readFileSync(file, 'utf8').trim());
  replace(file, newSecret());
}

function replace(file: string, secret: string): void {
  const partial = `${file}.${process.pid}`;
  writeFileSync(partial, `${secret}\n`, { mode: 0o600, flush: true });
  renameSync(partial, file);
  syncFolder(dirname(file));
}

/** The file appears in one step, whole and on the disk; one that another process made meanwhile stays. */
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
  return new StartError(`The secret ${file} could not be made: ${messageOf(cause)}`, { cause });
}
