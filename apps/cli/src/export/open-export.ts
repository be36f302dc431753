import { readFileSync, statSync } from 'node:fs';
import { lstat, opendir, stat } from 'node:fs/promises';
import path, { join } from 'node:path';
import { Readable } from 'node:stream';
import { z } from 'zod';
import { quoted, StartError } from '#bootstrap';
import { openInput } from '../terminal.js';
import { type ArchiveEntry, entryOf, tarEntries, zipEntries } from './archives.js';
import type { Export, ExportPart, Listing } from './export.types.js';
import { gunzippedHead, isGzip, isSystemFile, isTar, isZip } from './part-kinds.js';
import { type PartSource, rowsOf, rowsOfAll } from './part-rows.js';
import { bytesOf, headOf, type Meter, spoolOf, storedFile, type StoredFile } from './stored-bytes.js';

/** In all inputs together, archives included; an export has a few per class. */
const MAX_FILES = 50_000;
const MAX_WARNINGS = 100;
const STANDARD_INPUT = '-';
const NAMELESS = 'Standard input does not name the class of its rows. Pass the file by its path.';
const BY_NUMBER = new Intl.Collator('en', { numeric: true });

const COMPRESSED_TAR = /\.(?:tar\.gz|tgz)$/i;
/** Such a file is empty only after a failed copy. */
const ARCHIVE = /\.(?:tar|tgz|gz|zip)$/i;

interface Found {
  readonly sources: Map<ExportPart, PartSource>;
  readonly warnings: string[];
  readonly closers: (() => Promise<void>)[];
  readonly isPrefixed: boolean;
  readonly listing: Listing;
}

/** Opens files, folders and archives by content. @param paths `-` is standard input @throws StartError if a path cannot be read, EmptyExportError */
export async function openExport(
  paths: readonly string[],
  stdin: Readable,
  problems: readonly string[] = [],
): Promise<Export> {
  const found = nothingFound(paths.length > 1);
  for (const problem of problems) found.listing.skip(problem);
  try {
    for (const input of paths) await findIn(input, stdin, found);
    if (![...found.sources.keys()].some(({ kind }) => kind !== 'other')) throw nothingToRead(paths, found);
  } catch (error) {
    await closeAll(found);
    throw error;
  }
  return exportOf(found);
}

function nothingFound(isPrefixed: boolean): Found {
  const warnings: string[] = [];
  let files = 0;
  let unnamed = 0;
  const warn = (text: string) => {
    if (warnings.length < MAX_WARNINGS) warnings.push(text);
    else warnings[MAX_WARNINGS] = `${++unnamed} further warnings are not shown.`;
  };
  const listing = { warn, skip, count, isDamaged: false, isIncomplete: false };
  function skip(text: string): void {
    listing.isIncomplete = true;
    warn(text);
  }
  function count(): boolean {
    if (++files === MAX_FILES + 1)
      skip(`There are more than ${MAX_FILES} files. The rest is not read: pass fewer files at once.`);
    return files <= MAX_FILES;
  }
  return { sources: new Map(), warnings, closers: [], isPrefixed, listing };
}

export class EmptyExportError extends StartError {
  constructor(
    message: string,
    readonly isDamaged: boolean,
  ) {
    super(message);
  }
}

function nothingToRead(paths: readonly string[], { warnings, listing }: Found): EmptyExportError {
  const inputs = paths.map((input) => (input === STANDARD_INPUT ? 'standard input' : quoted(input))).join(', ');
  const remedy = 'Pass the archive of the export, or a folder with files such as _User.0.jsonl.';
  const text = [`No file of an export was found in ${inputs}.`, ...warnings, remedy].join(' ');
  return new EmptyExportError(text, listing.isDamaged || listing.isIncomplete);
}

async function findIn(input: string, stdin: Readable, found: Found): Promise<void> {
  if (input === STANDARD_INPUT) {
    const spool = await spoolOf(stdin);
    found.closers.push(spool.close);
    await findInFile(spool, { name: '', prefix: '' }, found);
    return;
  }
  const stats = await stat(input).catch((cause: unknown) => {
    const { code = 'unknown error' } = cause as NodeJS.ErrnoException;
    throw new StartError(`${quoted(input)} cannot be read (${code}). Check the path and its permissions.`, { cause });
  });
  const label = found.isPrefixed ? input : '';
  if (stats.isDirectory()) await findInFolder(input, label, found);
  else if (stats.isFile()) {
    const file = storedFile(input, stats.size, { label: input, isNamed: true });
    await findInFile(file, { name: label === '' ? path.basename(input) : label, prefix: label }, found);
  } else throw new StartError(`${quoted(input)} is neither a file nor a folder. Pass a stream as standard input: -.`);
}

async function findInFolder(folder: string, label: string, found: Found): Promise<void> {
  const files = await filesWithin(folder, found.listing);
  for (const { relative, size } of files.sort((one, other) => BY_NUMBER.compare(one.relative, other.relative))) {
    const name = label === '' ? relative : `${label}/${relative}`;
    const file = storedFile(path.join(folder, relative), size, { label: name, isNamed: false });
    await findInFile(file, { name, prefix: name }, found);
  }
}

interface Walk {
  readonly folder: string;
  readonly folders: string[];
  readonly files: { readonly relative: string; readonly size: number }[];
  readonly listing: Listing;
}

/** Links are reported, not followed. */
async function filesWithin(folder: string, listing: Listing): Promise<Walk['files']> {
  const walk: Walk = { folder, folders: [''], files: [], listing };
  for (let at = walk.folders.pop(); at !== undefined; at = walk.folders.pop()) {
    for (const name of await namesIn(path.join(folder, at), listing)) await visit(path.posix.join(at, name), walk);
  }
  return walk.files;
}

async function visit(relative: string, { folder, folders, files, listing }: Walk): Promise<void> {
  if (!listing.count()) return;
  const stats = await lstat(path.join(folder, relative));
  if (stats.isDirectory()) folders.push(relative);
  else if (stats.isFile()) files.push({ relative, size: stats.size });
  else listing.warn(`${quoted(relative)} is ${stats.isSymbolicLink() ? 'a link' : 'no regular file'} and is not read.`);
}

async function namesIn(folder: string, listing: Listing): Promise<readonly string[]> {
  const names: string[] = [];
  try {
    for await (const { name } of await opendir(folder)) names.push(name);
  } catch (cause) {
    const { code = 'unknown error' } = cause as NodeJS.ErrnoException;
    listing.skip(`The folder ${quoted(folder)} cannot be read (${code}). Check its permissions.`);
  }
  return names;
}

interface Naming {
  readonly name: string;
  readonly prefix: string;
}

async function findInFile(file: StoredFile, { name, prefix }: Naming, found: Found): Promise<void> {
  if (isSystemFile(name)) return;
  const head = await headOf(bytesOf(file, { stored: 0 }));
  const isCompressed = isGzip(head);
  const content = isCompressed ? gunzippedHead(head) : head;
  const isDamagedTar = isCompressed && content.length === 0 && COMPRESSED_TAR.test(name);
  if (isTar(content) || isDamagedTar) addArchive(await tarEntries(file, isCompressed, found.listing), prefix, found);
  else if (isZip(content) && !isCompressed) {
    const archive = await zipEntries(file, found.listing);
    found.closers.push(archive.close);
    addArchive(archive.entries, prefix, found);
  } else {
    const open = (meter: Meter) => bytesOf(file, meter);
    addEntry(entryOf({ name, bytes: file.size, open }, head, found.listing), name, found);
  }
}

/** Of two files with one name the last counts, as when unpacked. */
function addArchive(entries: readonly ArchiveEntry[], prefix: string, found: Found): void {
  const last = new Map(entries.map((entry) => [entry.name, entry]));
  const sorted = [...entries].sort((one, other) => BY_NUMBER.compare(one.name, other.name));
  for (const entry of sorted) {
    const { name } = entry;
    if (last.get(name) === entry) addEntry(entry, prefix === '' ? name : `${prefix}/${name}`, found);
    else found.listing.warn(`The archive holds ${quoted(name)} more than once. Only the last is read.`);
  }
}

function addEntry(entry: ArchiveEntry, name: string, found: Found): void {
  if (isSystemFile(name)) return;
  const { listing, sources } = found;
  const { isCompressed, parts } = entry.content;
  reportContent(entry, name, listing);
  const file = name === '' ? STANDARD_INPUT : withoutControls(name);
  for (const kind of parts) {
    const { layout: _layout, ...shown } = kind;
    sources.set({ file, bytes: entry.bytes, ...shown }, { kind, entry, isCompressed });
  }
  if (name === '' && parts.some(({ kind }) => kind === 'other')) listing.skip(NAMELESS);
}

function reportContent({ content }: ArchiveEntry, name: string, listing: Listing): void {
  const { obstacle, isEmpty, warnings } = content;
  if (obstacle !== undefined) listing.skip(`${quoted(name)} ${obstacle} and is not read. Unpack it first.`);
  for (const warning of warnings) listing.warn(`${quoted(name)} ${warning}.`);
  if (isEmpty && ARCHIVE.test(name)) listing.skip(`${quoted(name)} is empty. Copy or download it again.`);
  else if (isEmpty) listing.warn(`${quoted(name)} is empty.`);
}

/** File names of an archive may hold any character. */
function withoutControls(name: string): string {
  return name.replaceAll(/\p{C}/gu, '\u{fffd}');
}

function exportOf(found: Found): Export {
  const parts = [...found.sources.keys()];
  const progress = { bytesRead: 0 };
  return {
    parts,
    warnings: found.warnings,
    isDamaged: found.listing.isDamaged,
    isIncomplete: found.listing.isIncomplete,
    bytesTotal: parts.reduce((total, { bytes }) => total + bytes, 0),
    get bytesRead() {
      return progress.bytesRead;
    },
    rows: (part) => {
      const source = found.sources.get(part);
      if (source === undefined) throw new Error('The part belongs to another export.');
      return rowsOf(part, source, progress);
    },
    rowsOf: (wanted, order = {}) => rowsOfAll(wanted, order, { sources: found.sources, progress }),
    close: () => closeAll(found),
  };
}

async function closeAll({ closers }: Found): Promise<void> {
  for (const close of closers.splice(0)) await close();
}

/** The part of the manifest of `gatepost rescue` that an import reads. */
const rescued = z.object({
  format: z.literal('gatepost-rescue'),
  import: z.array(z.string().refine((path) => !path.startsWith('/') && !path.split(/[/\\]/).includes('..'))),
  exports: z.array(z.object({ path: z.string().optional(), bytes: z.number().optional() })).default([]),
});

/** Opens the files that the manifest of a folder of `gatepost rescue` lists, or the paths. @throws StartError as `openExport`, or for an empty manifest */
export function openSource(paths: readonly string[]): Promise<Export> {
  // Standard input also holds passwords, and an open stream would take them.
  const input = paths.includes('-') ? openInput() : Readable.from([]);
  return openExport(paths.flatMap(filesOf), input, paths.flatMap(changedArchives));
}

/** Archives whose size differs from the manifest of `gatepost rescue`. */
function changedArchives(folder: string): string[] {
  const { exports = [], import: listed = [] } = manifestIn(folder) ?? {};
  return exports.flatMap(({ path: file = '', bytes }) => {
    const size = listed.includes(file) ? statSync(join(folder, file), { throwIfNoEntry: false })?.size : undefined;
    if (bytes === undefined || size === undefined || size === bytes) return [];
    const remedy = 'Copy the folder again, or run "gatepost rescue" again.';
    return [`${quoted(file)} has ${size} bytes, but ${bytes} when "gatepost rescue" ended. ${remedy}`];
  });
}

function filesOf(path: string): string[] {
  const manifest = manifestIn(path);
  if (manifest === undefined) return [path];
  if (manifest.import.length === 0)
    throw new StartError(`${path} has nothing to import yet: run "gatepost rescue" to its end.`);
  return manifest.import.map((file) => join(path, file));
}

function manifestIn(path: string): z.output<typeof rescued> | undefined {
  try {
    return rescued.safeParse(JSON.parse(readFileSync(join(path, 'manifest.json'), 'utf8'))).data;
  } catch {
    return undefined;
  }
}
