import type { ArchiveEntry } from './archives.js';
import type { ExportPart, ExportRow, ReadRow, RowReader } from './export.types.js';
import { readerOf } from './export-rows.js';
import type { PartKind } from './part-kinds.js';
import { BytesProblem, gunzipped, type Meter } from './stored-bytes.js';

const END_OF_FILE = Buffer.alloc(0);

/** Where a part's bytes are, and how to read them. */
export interface PartSource {
  readonly kind: PartKind;
  readonly entry: ArchiveEntry;
  readonly isCompressed: boolean;
}

/** Streams the rows of a part. Bytes that cannot be read become a last problem row. */
export async function* rowsOf(
  part: ExportPart,
  source: PartSource,
  progress: { bytesRead: number },
): AsyncGenerator<ExportRow> {
  const meter: Meter = { stored: 0 };
  const reader = readerOf(source.kind);
  const stored = counted(source.entry.open(meter), progress);
  const chunks = source.isCompressed ? gunzipped(stored, meter) : stored;
  const ending: Ending = {};
  for await (const chunk of untilProblem(chunks, ending)) for (const row of reader.push(chunk)) yield placed(part, row);
  for (const row of reader.end(ending.problem)) yield placed(part, row);
}

interface Reading {
  readonly sources: ReadonlyMap<ExportPart, PartSource>;
  readonly progress: { bytesRead: number };
}

type SourcedPart = readonly [ExportPart, PartSource];

/** Streams the rows of several parts: those that follow each other in a tar archive in one pass. */
export async function* rowsOfAll(
  wanted: readonly ExportPart[],
  inAnyOrder: boolean,
  { sources, progress }: Reading,
): AsyncGenerator<ExportRow> {
  const parts = wanted.flatMap((part): SourcedPart[] => {
    const source = sources.get(part);
    return source === undefined ? [] : [[part, source]];
  });
  if (inAnyOrder) parts.sort(([, one], [, other]) => (one.entry.tar?.index ?? 0) - (other.entry.tar?.index ?? 0));
  for (const pass of passesOf(parts)) {
    const [first] = pass;
    if (pass.length > 1) yield* rowsOfPass(pass, progress);
    else if (first !== undefined) yield* rowsOf(first[0], first[1], progress);
  }
}

/** Groups parts that one pass over a tar archive can read in this order. */
function passesOf(parts: readonly SourcedPart[]): SourcedPart[][] {
  const passes: SourcedPart[][] = [];
  for (const part of parts) {
    const pass = passes.at(-1);
    const last = pass?.at(-1);
    if (last !== undefined && follows(part[1], last[1])) pass?.push(part);
    else passes.push([part]);
  }
  return passes;
}

function follows({ entry, isCompressed }: PartSource, before: PartSource): boolean {
  const isPlain = !isCompressed && !before.isCompressed;
  const isSameArchive = entry.tar !== undefined && entry.tar.archive === before.entry.tar?.archive;
  return isPlain && isSameArchive && entry.tar.index > before.entry.tar.index;
}

async function* rowsOfPass(pass: readonly SourcedPart[], progress: { bytesRead: number }): AsyncGenerator<ExportRow> {
  const readers = new Map(pass.map(([part, { kind, entry }]) => [indexOf(entry), { part, reader: readerOf(kind) }]));
  const ending: Ending = {};
  const contents = pass[0]?.[1].entry.tar?.archive.open(new Set(readers.keys()), { stored: 0 });
  if (contents === undefined) return;
  for await (const { index, chunk = END_OF_FILE } of untilProblem(contents, ending)) {
    progress.bytesRead += chunk.length;
    yield* rowsIn(chunk, readers.get(index));
    if (chunk === END_OF_FILE) readers.delete(index);
  }
  for (const { part, reader } of readers.values())
    for (const row of reader.end(ending.problem)) yield placed(part, row);
}

interface OpenPart {
  readonly part: ExportPart;
  readonly reader: RowReader;
}

function* rowsIn(chunk: Buffer, open: OpenPart | undefined): Generator<ExportRow> {
  if (open === undefined) return;
  const { part, reader } = open;
  for (const row of chunk === END_OF_FILE ? reader.end() : reader.push(chunk)) yield placed(part, row);
}

function indexOf({ tar }: ArchiveEntry): number {
  return tar?.index ?? -1;
}

/** Why bytes ended early. */
interface Ending {
  problem?: string;
}

/** Ends normally where the bytes cannot be read further, and leaves the reason. */
async function* untilProblem<T>(source: AsyncIterable<T>, ending: Ending): AsyncGenerator<T> {
  try {
    yield* source;
  } catch (error) {
    if (!(error instanceof BytesProblem)) throw error;
    ending.problem = error.message;
  }
}

function placed({ file, className }: ExportPart, read: ReadRow): ExportRow {
  const { line } = read;
  return 'row' in read ? { file, line, className, row: read.row } : { file, line, className, problem: read.problem };
}

async function* counted(source: AsyncIterable<Buffer>, progress: { bytesRead: number }): AsyncGenerator<Buffer> {
  for await (const chunk of source) {
    progress.bytesRead += chunk.length;
    yield chunk;
  }
}
