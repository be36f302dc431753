// Puts what was measured into docs/benchmarks.md, between the marks of its section.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../tools/prepare.mjs';

const FILE = join(ROOT, 'docs', 'benchmarks.md');

/** @throws Error where the document has no such section */
export function writeSection(name, text) {
  const [begin, end] = [`<!-- measured: ${name} -->`, `<!-- end: ${name} -->`];
  const document = readFileSync(FILE, 'utf8');
  const [from, to] = [document.indexOf(begin), document.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`docs/benchmarks.md has no section "${name}"`);
  writeFileSync(FILE, `${document.slice(0, from)}${begin}\n\n${text}\n\n${document.slice(to)}`);
}
