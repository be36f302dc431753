import type { JsonObject, JsonValue } from '#contracts';
import { isJsonObject } from '#objects';
import type { ArchiveEntry } from './archives.js';
import { BsonReader } from './bson-rows.js';
import type { ExportPart, ExportRow, ReadRow, RowOrder, RowReader } from './export.types.js';
import { LineReader, ListReader, MAX_ROW_BYTES, type Parsed, parseRow, RowBytes, withoutMark } from './json-rows.js';
import { classOfHeader, type PartKind, type RowLayout } from './part-kinds.js';
import { BytesProblem, gunzipped, type Meter } from './stored-bytes.js';

const FOREIGN_ROWS =
  'From this line on the file holds rows of another class, which are not read. Split the file at this line.';
const NO_PAIR =
  'The row does not have exactly two columns, the id of the role and the id of its member. Correct the row.';
const NO_IDS = 'The row lacks owningId or relatedId, or one of them is no id. Correct the row.';
const TOO_LARGE = 'The file is longer than 16 MiB and is not read. Export the schema again.';
const EMPTY_CELL = /^[\s"]*$/;
const HEADER_CELL = /^(?:owner|owningId|role|member|relatedId|user|objectId)$/i;
const HEADER_MARK = Buffer.from('#');

const END_OF_FILE = Buffer.alloc(0);

export interface PartSource {
  readonly kind: PartKind;
  readonly entry: ArchiveEntry;
  readonly isCompressed: boolean;
}

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

interface PartSources {
  readonly sources: ReadonlyMap<ExportPart, PartSource>;
  readonly progress: { bytesRead: number };
}

type SourcedPart = readonly [ExportPart, PartSource];

/** Parts that follow each other in a tar archive share one pass. */
export async function* rowsOfAll(
  wanted: readonly ExportPart[],
  { inAnyOrder = false }: RowOrder,
  { sources, progress }: PartSources,
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

interface Ending {
  problem?: string;
}

/** Ends normally at unreadable bytes, and records the reason. */
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

export function readerOf({ layout, kind }: PartKind): RowReader {
  const reader = plainReader(layout);
  return kind === 'relation' ? mapped(reader, relationRow) : reader;
}

function plainReader(layout: RowLayout): RowReader {
  switch (layout.by) {
    case 'lines':
      return new LineReader(lineParser(layout.className));
    case 'columns':
      return new LineReader(parseColumns());
    case 'list':
      return new ListReader(layout.key);
    case 'documents':
      return new BsonReader();
    case 'whole':
      return wholeReader();
    case 'problem':
      return problemReader(layout.problem);
    case 'nothing':
      return problemReader(undefined);
  }
}

/** Concatenated chunks repeat the first line, which is skipped. */
function lineParser(className: string): (line: Buffer) => Parsed | undefined {
  let isForeign = false;
  return (line) => {
    if (isForeign) return undefined;
    if (line[0] !== HEADER_MARK[0]) return parseRow(line);
    const named = classOfHeader(line.toString('utf8'));
    if (named === className) return undefined;
    isForeign = named !== undefined;
    return isForeign ? { problem: FOREIGN_ROWS } : parseRow(line);
  };
}

/** `owner,member` a line, of ids without comma and quote; skips a header of column names. */
function parseColumns(): (line: Buffer) => Parsed | undefined {
  let isFirst = true;
  return (line) => {
    const cells = line.toString('utf8').split(',').map(unquoted);
    const isHeader = isFirst && cells.every((cell) => HEADER_CELL.test(cell));
    isFirst = false;
    if (isHeader) return undefined;
    const [owningId = '', relatedId = ''] = cells;
    if (cells.length !== 2 || EMPTY_CELL.test(owningId) || EMPTY_CELL.test(relatedId)) return { problem: NO_PAIR };
    return { row: { owningId, relatedId } };
  };
}

function unquoted(cell: string): string {
  return cell.trim().replace(/^"(.*)"$/, '$1');
}

function wholeReader(): RowReader {
  const bytes = new RowBytes(MAX_ROW_BYTES);
  return {
    *push(chunk) {
      bytes.push(chunk);
      yield* [];
    },
    *end(failure) {
      if (failure !== undefined) yield { line: 1, problem: failure };
      else if (bytes.isTooLong) yield { line: 1, problem: TOO_LARGE };
      else yield { line: 1, ...parseRow(withoutMark(bytes.take())) };
    },
  };
}

function problemReader(problem: string | undefined): RowReader {
  return {
    *push() {
      yield* [];
    },
    *end() {
      if (problem !== undefined) yield { line: 1, problem };
    },
  };
}

function mapped(reader: RowReader, change: (row: JsonObject) => Parsed): RowReader {
  function* changed(rows: Iterable<ReadRow>): Iterable<ReadRow> {
    for (const read of rows) yield 'row' in read ? { line: read.line, ...change(read.row) } : read;
  }
  return { push: (chunk) => changed(reader.push(chunk)), end: (failure) => changed(reader.end(failure)) };
}

function relationRow({ owningId, relatedId }: JsonObject): Parsed {
  const [owner, member] = [plainId(owningId), plainId(relatedId)];
  return owner === undefined || member === undefined
    ? { problem: NO_IDS }
    : { row: { owningId: owner, relatedId: member } };
}

function plainId(value: JsonValue | undefined): string | undefined {
  const id = isJsonObject(value) ? value['objectId'] : value;
  return typeof id === 'string' && id !== '' ? id : undefined;
}
