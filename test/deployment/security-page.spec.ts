import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const ROOT = new URL('../../', import.meta.url);
const CLASSES = 59;
const ITSELF = '`test/deployment/security-page.spec.ts`';

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
    const named = (row.split(' | ').at(-1) ?? '').replace(/ \|$/, '').split('<br>');
    expect(named.filter((text) => !isTest(text))).toEqual([]);
  });

  it.each(['`test/nothing.ts` "is there"', '`test/deployment/security-page.spec.ts`', '', `${ITSELF} "names tests"`])(
    'takes nothing else for a test: %s',
    (text) => {
      expect(isTest(`${ITSELF} "has every class and every advisory once"`)).toBe(true);
      expect(isTest(text)).toBe(false);
    },
  );
});

/** Whether it names a file and the whole title of a test in it: what stands first in the brackets of `it`, `race`, or a table's. */
function isTest(text: string): boolean {
  const [, file = '', title = ''] = /^`([^`]+\.ts)` "(.+)"$/.exec(text) ?? [];
  const url = new URL(file, ROOT);
  if (title === '' || !existsSync(url)) return false;
  const source = readFileSync(url, 'utf8');
  const beginnings = source.matchAll(/(?:\b(?:it|race)|[)\]`])\(\s*(['"`])/g);
  return [...beginnings].some(({ index, 0: whole, 1: quote = '' }) =>
    source.slice(index + whole.length).startsWith(`${title.replaceAll("'", quote === "'" ? "\\'" : "'")}${quote}`),
  );
}
