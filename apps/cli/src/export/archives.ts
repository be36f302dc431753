import type { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { Parser, type ReadEntry } from 'tar';
import * as yauzl from 'yauzl';
import { quoted } from '#bootstrap';
import type { Listing } from './export.types.js';
import { type Content, contentOf } from './part-kinds.js';
import {
  bytesOf,
  BytesProblem,
  gunzipped,
  HEAD_BYTES,
  headOf,
  limited,
  type Meter,
  openStored,
  readToTheEnd,
  type StoredFile,
} from './stored-bytes.js';

export interface ArchiveEntry {
  readonly name: string;
  readonly bytes: number;
  readonly content: Content;
  open(meter: Meter): AsyncIterable<Buffer>;
  readonly tar?: TarPlace;
}

interface TarPlace {
  readonly archive: TarArchive;
  readonly index: number;
}

export interface TarArchive {
  /** Yields the bytes of the files in their order, and an undefined chunk after the last of each. @throws BytesProblem */
  open(wanted: ReadonlySet<number>, meter: Meter): AsyncIterable<{ readonly index: number; readonly chunk?: Buffer }>;
}

const FILE_TYPES = new Set(['File', 'OldFile', 'ContiguousFile']);
/** Longest header of PAX, which the parser holds in memory. */
const MAX_META_BYTES = 1024 * 1024;
const UNIX_TYPE = 0o170000;
const UNIX_FILE = 0o100000;
const UNIX_LINK = 0o120000;
const MAKE_AGAIN = 'Copy or download it again.';
const ENDS_EARLY = 'The archive ends within this file: it is truncated. Copy or download it again.';

/** An entry without its first bytes, which would fill the memory where entries are many. */
export function entryOf(file: Omit<ArchiveEntry, 'content'>, head: Buffer, listing: Listing): ArchiveEntry {
  const content = contentOf(file.name, head);
  const parts = content.parts.filter((_, index) => index === 0 || listing.count());
  return { ...file, content: { ...content, parts } };
}

/** Nothing is written under an entry's name, but an archive with such a name is no export. */
function nameProblem(name: string): string | undefined {
  const path = name.replaceAll('\\', '/');
  if (path.startsWith('/') || /^[A-Za-z]:/.test(path)) return 'has an absolute path';
  if (path.split('/').includes('..')) return 'has a path with ".."';
  return undefined;
}

function isAccepted(name: string, problem: string | undefined, listing: Listing): boolean {
  const reason = nameProblem(name) ?? problem;
  if (reason !== undefined) listing.skip(`${quoted(name)} ${reason} and is not read.`);
  return reason === undefined;
}

function refuse(name: string, kind: 'is a link' | 'is no regular file', listing: Listing): false {
  listing.warn(`${quoted(name)} ${nameProblem(name) ?? kind} and is not read.`);
  return false;
}

type TarEvent = { readonly index: number } & (
  | { readonly is: 'entry'; readonly entry: ReadEntry }
  | { readonly is: 'data'; readonly chunk: Buffer }
  | { readonly is: 'end' }
  | { readonly is: 'warning'; readonly text: string }
);

/** Holds at most the events of one chunk in memory. @throws BytesProblem */
async function* tarEvents(source: AsyncIterable<Buffer>): AsyncGenerator<TarEvent> {
  const events: TarEvent[] = [];
  let index = -1;
  const parser = new Parser({ zstd: false, maxMetaEntrySize: MAX_META_BYTES });
  parser.on('entry', (entry: ReadEntry) => {
    index++;
    events.push({ is: 'entry', index, entry });
    entry.on('data', (chunk: Buffer) => events.push({ is: 'data', index, chunk }));
    entry.on('end', () => events.push({ is: 'end', index }));
  });
  parser.on('ignoredEntry', ({ path, type }: ReadEntry) => {
    const text = `${quoted(path)} is of a kind that cannot be read (${type}) and is left out.`;
    events.push({ is: 'warning', index, text });
  });
  parser.on('warn', (code: string) => {
    const text = 'A header of the archive is damaged; the file behind it is not read.';
    if (code === 'TAR_ENTRY_INVALID') events.push({ is: 'warning', index, text });
  });
  for await (const chunk of source) {
    parser.write(chunk);
    yield* events.splice(0);
  }
  // The parser is not ended: it would report a file that is cut off as complete.
}

interface TarListing {
  readonly archive: TarArchive;
  readonly file: StoredFile;
  readonly isCompressed: boolean;
  readonly listing: Listing;
  readonly entries: ArchiveEntry[];
  current: { readonly entry: ReadEntry; readonly index: number; readonly pieces: Buffer[]; length: number } | undefined;
}

/** Lists the files of a tar archive in one pass; of a damaged archive those before the damage. */
export async function tarEntries(
  file: StoredFile,
  isCompressed: boolean,
  listing: Listing,
): Promise<readonly ArchiveEntry[]> {
  const archive: TarArchive = {
    open: (wanted, meter) => tarContents(tarBytes(file, isCompressed, meter), wanted),
  };
  const state: TarListing = { archive, file, isCompressed, listing, entries: [], current: undefined };
  try {
    await listTar(state);
    if (state.current !== undefined) throw new BytesProblem(ENDS_EARLY);
  } catch (error) {
    if (!(error instanceof BytesProblem)) throw error;
    listing.isDamaged = true;
    listing.warn(`${quoted(file.label)}: ${error.message}`);
    finishTarEntry(state);
  }
  return state.entries;
}

async function listTar(state: TarListing): Promise<void> {
  const { file, isCompressed, listing } = state;
  for await (const event of tarEvents(tarBytes(file, isCompressed, { stored: 0 }))) {
    if (event.is === 'entry' && !listing.count()) return;
    listTarEvent(state, event);
  }
}

function listTarEvent(state: TarListing, event: TarEvent): void {
  const { current, listing, file } = state;
  if (event.is === 'warning') listing.skip(`${quoted(file.label)}: ${event.text}`);
  else if (event.is === 'end') finishTarEntry(state);
  else if (event.is === 'entry') {
    const isWanted = isWantedTarEntry(event.entry, listing);
    if (isWanted) state.current = { entry: event.entry, index: event.index, pieces: [], length: 0 };
  } else if (current !== undefined && current.length < HEAD_BYTES) {
    current.pieces.push(event.chunk);
    current.length += event.chunk.length;
  }
}

function finishTarEntry(state: TarListing): void {
  const { archive, listing, current } = state;
  state.current = undefined;
  if (current === undefined) return;
  const { entry, index, pieces } = current;
  const head = Buffer.concat(pieces).subarray(0, HEAD_BYTES);
  const open = (meter: Meter) => onlyChunks(archive.open(new Set([index]), meter));
  const file = { name: entry.path, bytes: entry.size, open, tar: { archive, index } };
  state.entries.push(entryOf(file, head, listing));
}

function tarBytes(file: StoredFile, isCompressed: boolean, meter: Meter): AsyncIterable<Buffer> {
  const stored = bytesOf(file, meter);
  return isCompressed ? gunzipped(stored, meter) : stored;
}

async function* tarContents(
  archive: AsyncIterable<Buffer>,
  wanted: ReadonlySet<number>,
): AsyncGenerator<{ index: number; chunk?: Buffer }> {
  let left = wanted.size;
  for await (const event of tarEvents(archive)) {
    const { index } = event;
    if (!wanted.has(index)) continue;
    if (event.is === 'data') yield { index, chunk: event.chunk };
    if (event.is !== 'end') continue;
    yield { index };
    left -= 1;
    if (left === 0) return;
  }
  throw new BytesProblem(ENDS_EARLY);
}

async function* onlyChunks(contents: AsyncIterable<{ readonly chunk?: Buffer }>): AsyncGenerator<Buffer> {
  for await (const { chunk } of contents) if (chunk !== undefined) yield chunk;
}

function isWantedTarEntry({ type, path }: ReadEntry, listing: Listing): boolean {
  if (type === 'Directory' || type === 'GNUDumpDir') return false;
  if (FILE_TYPES.has(type)) return isAccepted(path, undefined, listing);
  return refuse(path, type === 'SymbolicLink' || type === 'Link' ? 'is a link' : 'is no regular file', listing);
}

export interface ZipArchive {
  readonly entries: readonly ArchiveEntry[];
  readonly close: () => Promise<void>;
}

/** Lists the files of a zip archive from its directory. An unreadable archive has none, after a warning. */
export async function zipEntries(file: StoredFile, listing: Listing): Promise<ZipArchive> {
  const handle = await openStored(file);
  const close = () => file.release(handle);
  try {
    const zip = await yauzl.fromFdPromise(handle.fd, { autoClose: false, lazyEntries: true, decodeStrings: false });
    return { entries: await listZip(zip, file, listing), close };
  } catch (error) {
    listing.isDamaged = true;
    listing.warn(`${quoted(file.label)}: ${zipProblem(error).message}`);
    return { entries: [], close };
  }
}

async function listZip(zip: yauzl.ZipFile, file: StoredFile, listing: Listing): Promise<ArchiveEntry[]> {
  const found: yauzl.Entry[] = [];
  let stored = 0;
  for await (const entry of zip.eachEntry()) {
    if (!listing.count()) break;
    stored += entry.compressedSize;
    // Entries that share bytes make a zip bomb.
    if (stored > file.size) throw new BytesProblem('The files of the archive overlap. Make the archive again.');
    if (isWantedZipEntry(entry, listing)) found.push(entry);
  }
  const entries: ArchiveEntry[] = [];
  for (const entry of found) {
    const open = (meter: Meter) => zipContent(zip, entry, meter);
    const head = await headOf(open({ stored: 0 }));
    entries.push(entryOf({ name: zipName(entry), bytes: entry.uncompressedSize, open }, head, listing));
  }
  return entries;
}

function isWantedZipEntry(entry: yauzl.Entry, listing: Listing): boolean {
  const name = zipName(entry);
  if (name.endsWith('/')) return false;
  const type = (entry.externalFileAttributes >>> 16) & UNIX_TYPE;
  if (type !== 0 && type !== UNIX_FILE)
    return refuse(name, type === UNIX_LINK ? 'is a link' : 'is no regular file', listing);
  if (entry.isEncrypted()) return isAccepted(name, 'is encrypted', listing);
  const method = entry.canDecodeFileData()
    ? undefined
    : `is compressed by method ${entry.compressionMethod}, not by deflate,`;
  return isAccepted(name, method, listing);
}

function zipName(entry: yauzl.Entry): string {
  return yauzl.getFileNameLowLevel(entry.generalPurposeBitFlag, entry.fileNameRaw, entry.extraFields, false);
}

async function* zipContent(zip: yauzl.ZipFile, entry: yauzl.Entry, meter: Meter): AsyncGenerator<Buffer> {
  meter.stored += entry.compressedSize;
  let checksum = 0;
  try {
    const stream = await zip.openReadStreamPromise(entry);
    for await (const chunk of limited(destroyed(stream), meter)) {
      checksum = crc32(chunk, checksum);
      yield chunk;
    }
  } catch (error) {
    throw zipProblem(error);
  }
  if (checksum !== entry.crc32) throw new BytesProblem(`The checksum of the file is wrong. ${MAKE_AGAIN}`);
}

async function* destroyed(stream: Readable): AsyncGenerator<Buffer> {
  try {
    yield* readToTheEnd(stream);
  } finally {
    stream.destroy();
  }
}

function zipProblem(error: unknown): BytesProblem {
  if (error instanceof BytesProblem) return error;
  const { message } = error as Error;
  if (message.includes('encryption')) return new BytesProblem('The archive is encrypted. Decrypt it first.');
  return new BytesProblem(`The archive is damaged or truncated. ${MAKE_AGAIN}`, { cause: error });
}
