import type { FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { StartError } from '#bootstrap';
import { type ImportedObject, type ImportNote, type ImportVerdict, TAKEN } from '#contracts';
import { namelessFile } from '../export/stored-bytes.js';
import type { RowPlace } from './import-summary.js';

/** A row with a taken value. Its verdict can change once the other rows of the class are in. */
export interface TakenRow {
  readonly place: RowPlace;
  readonly object: ImportedObject;
  readonly notes: readonly ImportNote[];
  readonly verdict: ImportVerdict;
}

export interface OlderRow {
  readonly place: RowPlace;
  readonly updatedAt: string;
}

const BLOCK_BYTES = 262_144;
/** In a container the folder of temporary files can be in memory. */
const MAX_BYTES = 67_108_864;

/** Keeps rows in a temporary file that has no name, in blocks: a million users would not fit into memory. */
export class WaitingRows<Row> {
  /** Whether a row of the class has been stored meanwhile, which can have given up values. */
  hasStored = false;
  #file: FileHandle | undefined;
  #block: string[] = [];
  #blockBytes = 0;
  #end = 0;
  readonly #blocks: { readonly position: number; readonly bytes: number }[] = [];

  constructor(private readonly maxBytes = MAX_BYTES) {}

  /** @returns false where there is no space for the row. @throws StartError where the file cannot be written */
  async add(row: Row): Promise<boolean> {
    const text = JSON.stringify(row);
    const bytes = Buffer.byteLength(text) + 1;
    if (this.#end + this.#blockBytes + bytes > this.maxBytes) return false;
    this.#block.push(text);
    this.#blockBytes += bytes;
    if (this.#blockBytes >= BLOCK_BYTES) await this.#write();
    return true;
  }

  async *drained(): AsyncGenerator<Row> {
    try {
      for (const { position, bytes } of this.#blocks) {
        const block = Buffer.allocUnsafe(bytes);
        await this.#file?.read(block, 0, bytes, position);
        yield* JSON.parse(block.toString()) as Row[];
      }
      yield* JSON.parse(`[${this.#block.join(',')}]`) as Row[];
    } finally {
      await this.#file?.close();
    }
  }

  async #write(): Promise<void> {
    const block = Buffer.from(`[${this.#block.join(',')}]`);
    try {
      this.#file ??= await namelessFile();
      await this.#file.writeFile(block);
    } catch (cause) {
      const { code = 'unknown error' } = cause as NodeJS.ErrnoException;
      const remedy = 'Set TMPDIR to a folder with enough space.';
      throw new StartError(`Rows cannot be kept in ${tmpdir()} (${code}). ${remedy}`, { cause });
    }
    this.#blocks.push({ position: this.#end, bytes: block.length });
    this.#end += block.length;
    this.#block = [];
    this.#blockBytes = 0;
  }
}

export function isTaken({ notes }: ImportVerdict): boolean {
  return notes.some(({ reason }) => reason === TAKEN);
}

/** The verdict about a row that has a verdict already. */
export function settled(verdict: ImportVerdict, former?: ImportVerdict): ImportVerdict {
  const taken = verdict.notes.filter(({ reason }) => reason === TAKEN);
  const isStored = [verdict, former].some((each) => each?.outcome.startsWith('imported'));
  if (!isStored || (former === undefined && taken.length === 0)) return verdict;
  return taken.length === 0 ? { outcome: 'imported', notes: [] } : { outcome: 'imported_without', notes: taken };
}

export function withNotes({ outcome, notes }: ImportVerdict, own: readonly ImportNote[]): ImportVerdict {
  if (own.length === 0 || (outcome !== 'imported' && outcome !== 'imported_without')) return { outcome, notes };
  return { outcome: 'imported_without', notes: [...own, ...notes] };
}
