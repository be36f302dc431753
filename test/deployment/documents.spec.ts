import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';

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
