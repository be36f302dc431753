import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const FOLDERS = ['apps', 'bench', 'deploy', 'docs', 'libs', 'test', 'tools'];

const FILES = [
  ...readdirSync(ROOT),
  ...FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path)),
  ),
].filter((path) => !path.includes('node_modules'));
const DOCUMENTS = FILES.filter((path) => path.endsWith('.md'));

/** A file of the sources: a name in code spans without placeholders. */
const SOURCE_NAME = /`([\w./-]+\.(?:ts|mjs|cjs))`/g;
const LINK = /\]\((?!https?:|mailto:|#)([^)#\s]+)(?:#[^)\s]*)?\)/g;

const namesIn = (document: string, pattern: RegExp) =>
  [...readFileSync(join(ROOT, document), 'utf8').matchAll(pattern)].map(([, name = '']) => name);

describe('documents', () => {
  it.each(DOCUMENTS)('%s names source files that exist', (document) => {
    const missing = namesIn(document, SOURCE_NAME).filter(
      (name) => !FILES.some((path) => path === name || path.endsWith(`/${name}`)),
    );
    expect(missing).toEqual([]);
  });

  it.each(DOCUMENTS)('%s links to files that exist', (document) => {
    const missing = namesIn(document, LINK).filter((target) => !existsSync(join(ROOT, dirname(document), target)));
    expect(missing).toEqual([]);
  });
});

describe('the commands of docs/operations.md, "Backup"', () => {
  const [, backup = ''] = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8').split('\n## Backup\n');
  const writing = backup.split('\n').filter((line) => /pg_dump |--rdb|tar -c/.test(line));

  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'backup-'));
  });

  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  /** @returns names in the archive that the last command makes */
  const archived = () => {
    execFileSync('bash', ['-c', `umask 022; ${writing.at(-1)}`], { cwd: folder });
    return execFileSync('tar', ['-tPf', 'backup.tar'], { cwd: folder, encoding: 'utf8' }).trim().split('\n').toSorted();
  };

  it('write files that other users of the machine cannot read', () => {
    expect(writing).toHaveLength(5);
    for (const line of writing) expect(line).toMatch(/^\(umask 077; .*\)$/);
    mkdirSync(join(folder, 'data/postgres'), { recursive: true });
    // An absolute name would overwrite the live database where the archive is unpacked elsewhere.
    expect(archived()).toEqual(['data/', 'data/postgres/']);
    expect(statSync(join(folder, 'backup.tar')).mode & 0o777).toBe(0o600);
  });

  it('contain the database of a root user, which is elsewhere', () => {
    const database = join(folder, 'elsewhere');
    mkdirSync(database);
    mkdirSync(join(folder, 'data'));
    // As after a move to a larger disk.
    symlinkSync(database, join(folder, 'moved'));
    symlinkSync(join(folder, 'moved'), join(folder, 'data/postgres'));
    expect(archived()).toEqual([`${database}/`, 'data/', 'data/postgres']);
  });
});
