import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Writes a file that appears whole, for us alone: what we write holds codes and links. Its folder, that above it, and the data
 * folder are made where they are not there.
 */
export async function writeWhole(file: string, content: Parameters<typeof writeFile>[1]): Promise<void> {
  const folder = dirname(file);
  for (const path of [dirname(dirname(folder)), dirname(folder), folder]) await makeFolder(path);
  const partial = `${file}.${process.pid}`;
  await writeFile(partial, content, { mode: 0o600, flush: true });
  await rename(partial, file);
}

async function makeFolder(path: string): Promise<void> {
  await mkdir(path, { mode: 0o700 }).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  });
}
