import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import bcrypt from 'bcrypt';
import { StartError } from '#bootstrap';
import type { ImportedObject, ImportedPassword } from '#contracts';
import { parseImportedRow, parsePhoneNumber } from '#objects';
import { importedBcryptHash, leancloudHash } from '#security';
import type { Export, ExportRow } from '../export/export.types.js';
import { print, printAside, readInput, reportFailure, withoutLastBreak } from '../terminal.js';
import { rowsOf } from './import-run.js';

/** Compares a password with the hash in the export, without any server. @throws StartError where the export has no such user or password */
export async function checkPassword(source: Export, user: string, fromInput: boolean): Promise<void> {
  const found = await findUser(source, user);
  if (found === undefined) throw new StartError('The export has no user with this username, e-mail address or number.');
  if (found.password === undefined)
    throw new StartError('The export has no password of this user that Gatepost can use.');
  const password = fromInput ? passwordOfInput() : await askForPassword();
  const isRight = await isPasswordOf(found.password, password);
  print(isRight ? 'The password is right.' : 'The password is wrong.');
  if (!isRight) reportFailure();
}

/** The newest row counts; one without a password, as a scan has, keeps that of an earlier row, as in an import. */
async function findUser(source: Export, user: string): Promise<ImportedObject | undefined> {
  const names = [user, ...phoneOf(user)];
  let found: ImportedObject | undefined = undefined;
  for await (const row of rowsOf(source, ({ kind, className }) => kind === 'rows' && className === '_User')) {
    const object = objectOf(row);
    if (object !== undefined && isNamed(object, names)) found = newestOf(object, found);
  }
  return found;
}

function newestOf(object: ImportedObject, found: ImportedObject | undefined): ImportedObject {
  if (found === undefined) return object;
  const [older, newer] = object.updatedAt > found.updatedAt ? [found, object] : [object, found];
  return newer.password === undefined && older.objectId === newer.objectId ? { ...older, ...newer } : newer;
}

function objectOf(row: ExportRow): ImportedObject | undefined {
  const parsed = 'row' in row ? parseImportedRow('_User', row.row) : undefined;
  return parsed !== undefined && 'object' in parsed ? parsed.object : undefined;
}

function isNamed({ columns }: ImportedObject, names: readonly unknown[]): boolean {
  return ['username', 'email', 'mobilePhoneNumber'].some((field) => names.includes(columns[field]));
}

function phoneOf(text: string): string[] {
  try {
    return [parsePhoneNumber(text)];
  } catch {
    return [];
  }
}

function isPasswordOf(stored: ImportedPassword, password: string): Promise<boolean> {
  return stored.scheme === 'leancloud'
    ? Promise.resolve(leancloudHash(stored.salt, password) === stored.hash)
    : bcrypt.compare(password, importedBcryptHash(stored.hash));
}

function passwordOfInput(): string {
  const password = withoutLastBreak(Buffer.from(readInput()).toString('utf8'));
  if (password === '')
    throw new StartError('Standard input holds no password. Pass it there, and the export by its path.');
  return password;
}

async function askForPassword(): Promise<string> {
  if (!process.stdin.isTTY) throw new StartError('Standard input is no terminal: use --password-stdin.');
  printAside('Password: ');
  const silent = new Writable({
    write: (_chunk, _encoding, done) => {
      done();
    },
  });
  const lines = createInterface({ input: process.stdin, output: silent, terminal: true });
  try {
    return await lines.question('');
  } catch (cause) {
    throw new StartError('No password was typed: nothing was compared.', { cause });
  } finally {
    lines.close();
    printAside('\n');
  }
}
