import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { z } from 'zod';
import { StartError } from '#bootstrap';
import { openInput } from '../terminal.js';
import type { Export } from '../export/export.types.js';
import { openExport } from '../export/open-export.js';

/** The part of the manifest of `gatepost rescue` that an import reads: the files that count, in their order. */
const rescued = z.object({
  format: z.literal('gatepost-rescue'),
  import: z.array(z.string().refine((path) => !path.startsWith('/') && !path.split(/[/\\]/).includes('..'))),
});

/**
 * Opens the export that a command names. Of a folder that `gatepost rescue` has made, it opens the files that the manifest lists.
 * @throws StartError as `openExport`; where the manifest lists nothing
 */
export function openSource(paths: readonly string[]): Promise<Export> {
  // Standard input also holds passwords, and an open stream would take them.
  const input = paths.includes('-') ? openInput() : Readable.from([]);
  return openExport(paths.flatMap(filesOf), input);
}

function filesOf(path: string): string[] {
  const manifest = manifestIn(path);
  if (manifest === undefined) return [path];
  if (manifest.import.length === 0)
    throw new StartError(`${path} has nothing to import yet: run "gatepost rescue" to its end.`);
  return manifest.import.map((file) => join(path, file));
}

/** The manifest of a folder of `rescue`; undefined for every other path. */
function manifestIn(path: string): z.output<typeof rescued> | undefined {
  try {
    return rescued.safeParse(JSON.parse(readFileSync(join(path, 'manifest.json'), 'utf8'))).data;
  } catch {
    return undefined;
  }
}
