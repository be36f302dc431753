import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The version of Gatepost, as the next package.json above this file says it: where it was built to, or as a source. */
export function packageVersion(folder = import.meta.dirname): string {
  const file = join(folder, 'package.json');
  if (!existsSync(file)) return packageVersion(dirname(folder));
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
