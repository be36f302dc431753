import { readFile, rename, writeFile } from 'node:fs/promises';
import { parseDeviceState } from './device.js';
import type { DeviceStore } from './push-client.types.js';

/** Keeps the state in a file, which is replaced atomically: after a crash or a power cut the file holds the old state or the new one. */
export function fileStore(path: string): DeviceStore {
  return {
    load: async () => parseDeviceState(await contentOf(path)),
    save: async (state) => {
      // The installation's id is the device's secret.
      await writeFile(`${path}.new`, JSON.stringify(state), { mode: 0o600, flush: true });
      await rename(`${path}.new`, path);
    },
  };
}

async function contentOf(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
