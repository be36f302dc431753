import { closeSync, fsyncSync, openSync } from 'node:fs';

/** Returns when the names in the folder are on the disk: a new one could be lost in a power cut, whatever its file holds. */
export function syncFolder(folder: string): void {
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
