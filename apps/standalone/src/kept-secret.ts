import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { StartError } from '#bootstrap';
import { messageOf } from '#errors';
import { syncFolder } from './sync-folder.js';

const SECRET_BYTES = 32;
const SECRET_LENGTH = Math.ceil((SECRET_BYTES * 8) / 6);

/**
 * A random text that is made once and kept in a file only we can read.
 * @throws StartError where the file holds less than was once written: what was sealed with it could not be opened
 */
export function keptSecret(file: string): string {
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
export function keptSecrets(file: string): string[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, 'utf8')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

/** Puts a new secret in the file, and the one that was there into another. At no moment is it in neither. */
export function swapKeptSecret(file: string, acceptedFile: string): void {
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
