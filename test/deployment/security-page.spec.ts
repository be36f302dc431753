import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const ROOT = new URL('../../', import.meta.url);
const CLASSES = 59;

/** Rows of the page's tables from classes of threats to tests, which are named by file and title. */
const rows = threats()
  .split('\n')
  .filter((line) => /^\| (?!class \|)/.test(line));

function threats(): string {
  const page = readFileSync(new URL('docs/security.md', ROOT), 'utf8');
  return page.split('## Threats, class by class')[1]?.split('\n## ')[0] ?? '';
}

describe('the page on security', () => {
  it('has a row for every class of threats', () => {
    expect(rows.length).toBeGreaterThanOrEqual(CLASSES);
  });

  it('has every class and every advisory once', () => {
    const classes = rows.map((row) => row.split(' | ')[0]);
    const advisories = rows.flatMap((row) => row.match(/GHSA(?:-\w{4}){3}|CVE-\d+-\d+/g) ?? []);
    for (const names of [classes, advisories]) expect(names).toEqual([...new Set(names)]);
    expect(advisories.length).toBeGreaterThan(0);
  });

  it.each(rows)('names tests that are there: %.60s', (row) => {
    const named = [...row.matchAll(/`([^`]+\.ts)` "(.+?)"(?=<br>| \|)/g)];
    expect(named).not.toEqual([]);
    const missing = named.filter(([, file = '', title = '']) => {
      const url = new URL(file, ROOT);
      return !existsSync(url) || !readFileSync(url, 'utf8').includes(title);
    });
    expect(missing.map(([text]) => text)).toEqual([]);
  });
});
