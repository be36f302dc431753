import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const ROOT = new URL('../../', import.meta.url);
const CLASSES = 34;

/** Rows of the page's tables from classes of threats to tests, which are named by file and title. */
const rows = readFileSync(new URL('docs/security.md', ROOT), 'utf8')
  .split('### A test for each class')[1]
  ?.split('\n## ')[0]
  ?.split('\n')
  .filter((line) => /^\| (?!class|-)/.test(line))
  .filter((line) => !line.startsWith('|---'));

describe('the page on security', () => {
  it('has a row for every class of threats', () => {
    expect(rows?.length).toBeGreaterThanOrEqual(CLASSES);
  });

  it.each(rows ?? [])('names tests that are there: %.60s', (row) => {
    const named = [...row.matchAll(/`([^`]+\.ts)` "([^"]+)"/g)];
    expect(named).not.toEqual([]);
    const missing = named.filter(([, file = '', title = '']) => {
      const url = new URL(file, ROOT);
      return !existsSync(url) || !readFileSync(url, 'utf8').includes(title);
    });
    expect(missing.map(([text]) => text)).toEqual([]);
  });
});
