import { constants as fsConstants } from 'node:fs';
import { type FileHandle, mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { StartError } from '#bootstrap';

const KIB = 1_024;
const CHUNK_BYTES = 256 * KIB;
/** Smaller than a chunk: damage loses the rows of one such piece before it. */
const GUNZIP_BYTES = 64 * KIB;
export const HEAD_BYTES = 64 * KIB;
/** Bytes that decompression may yield for any input, and then for each stored byte: exports compress to a twentieth, a bomb to a 1,032nd. */
const FREE_BYTES = 1_024 * KIB * KIB;
const MAX_RATIO = 200;
const BOMB = `The compressed data grows to over ${MAX_RATIO} times its size and is not read further. Unpack it if you trust it.`;

export interface Meter {
  stored: number;
}

export interface StoredFile {
  readonly label: string;
  readonly size: number;
  readonly open: () => Promise<FileHandle>;
  readonly release: (handle: FileHandle) => Promise<void>;
}

/** The message quotes no content. */
export class BytesProblem extends Error {}

/** @param isNamed whether the caller named the file: only then is a symbolic link followed */
export function storedFile(
  filePath: string,
  size: number,
  { label, isNamed }: { label: string; isNamed: boolean },
): StoredFile {
  // O_NONBLOCK: a pipe in the file's place does not block.
  const flags = fsConstants.O_RDONLY | fsConstants.O_NONBLOCK | (isNamed ? 0 : fsConstants.O_NOFOLLOW);
  return { label, size, open: () => open(filePath, flags), release: (handle) => handle.close() };
}

/** Writes standard input to a nameless file. @throws StartError if the disk is full or not writable */
export async function spoolOf(input: Readable): Promise<StoredFile & { readonly close: () => Promise<void> }> {
  // Reading reports an earlier error again.
  input.on('error', () => undefined);
  try {
    const handle = await namelessFile();
    await writeAll(input, handle);
    const { size } = await handle.stat();
    const close = () => handle.close();
    return {
      label: 'standard input',
      size,
      open: () => Promise.resolve(handle),
      release: () => Promise.resolve(),
      close,
    };
  } catch (cause) {
    const { code = 'unknown error' } = cause as NodeJS.ErrnoException;
    const remedy = 'Set TMPDIR to a folder with enough space, or pass the path of the file.';
    throw new StartError(`Standard input cannot be kept in ${tmpdir()} (${code}). ${remedy}`, { cause });
  }
}

/** A temporary file of mode 0600 without a name: only this process can read it, and its end frees the space. */
export async function namelessFile(): Promise<FileHandle> {
  const folder = await mkdtemp(path.join(tmpdir(), 'gatepost-import-'));
  try {
    return await open(path.join(folder, 'input'), 'wx+', 0o600);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function writeAll(input: Readable, handle: FileHandle): Promise<void> {
  try {
    await writeFile(handle, input);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

export async function* bytesOf(file: StoredFile, meter: Meter): AsyncGenerator<Buffer> {
  const handle = await openStored(file);
  try {
    yield* chunksOf(handle, meter);
  } finally {
    await file.release(handle);
  }
}

async function* chunksOf(handle: FileHandle, meter: Meter): AsyncGenerator<Buffer> {
  for (let position = 0; ;) {
    // Not from Node's pool, and never reused: rows are views of it.
    const buffer = Buffer.allocUnsafeSlow(CHUNK_BYTES);
    const { bytesRead } = await handle.read(buffer, 0, CHUNK_BYTES, position).catch(failedRead);
    if (bytesRead === 0) return;
    position += bytesRead;
    meter.stored += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

export async function openStored(file: StoredFile): Promise<FileHandle> {
  const handle = await file.open().catch(failedRead);
  if ((await handle.stat()).isFile()) return handle;
  await file.release(handle);
  throw new BytesProblem('The file is no regular file any more. Start again.');
}

function failedRead(cause: unknown): never {
  const { code = 'unknown error' } = cause as NodeJS.ErrnoException;
  throw new BytesProblem(`The file cannot be read (${code}). Check the file and its permissions.`, { cause });
}

/** Decompresses gzip; yields bytes before the damage first. @throws BytesProblem if the stream is damaged, ends too early or is a bomb */
export async function* gunzipped(source: AsyncIterable<Buffer>, meter: Meter): AsyncGenerator<Buffer> {
  const stream = createGunzip({ chunkSize: GUNZIP_BYTES });
  const input = Readable.from(source, { highWaterMark: 1 });
  input.on('error', (error) => stream.destroy(error));
  input.pipe(stream);
  try {
    yield* limited(readToTheEnd(stream), meter);
  } catch (error) {
    throw gunzipProblem(error);
  } finally {
    input.destroy();
    stream.destroy();
  }
}

/** Stops decompressed bytes out of proportion to the stored ones. @throws BytesProblem */
export async function* limited(source: AsyncIterable<Buffer>, meter: Meter): AsyncGenerator<Buffer> {
  let yielded = 0;
  for await (const chunk of source) {
    yielded += chunk.length;
    if (yielded > FREE_BYTES + MAX_RATIO * meter.stored) throw new BytesProblem(BOMB);
    yield chunk;
  }
}

/** Yields buffered data before the stream's error, and notices an error that does not destroy the stream (yauzl's). */
export async function* readToTheEnd(stream: Readable): AsyncGenerator<Buffer> {
  const changes = changesOf(stream);
  for (;;) {
    const changed = changes.next();
    const chunk = stream.read() as Buffer | null;
    if (chunk !== null) yield chunk;
    else if (changes.error !== undefined) throw changes.error;
    else if (stream.readableEnded || stream.destroyed) return;
    else await changed;
  }
}

interface StreamChanges {
  error: Error | undefined;
  next(): Promise<void>;
}

function changesOf(stream: Readable): StreamChanges {
  let wake: (() => void) | undefined;
  const changes: StreamChanges = {
    error: undefined,
    next: () =>
      new Promise<void>((resolve) => {
        wake = resolve;
      }),
  };
  stream.on('error', (error) => {
    changes.error = error;
    wake?.();
  });
  for (const event of ['readable', 'end', 'close']) stream.on(event, () => wake?.());
  return changes;
}

function gunzipProblem(error: unknown): unknown {
  const { code = '' } = error as NodeJS.ErrnoException;
  if (code === 'Z_BUF_ERROR')
    return new BytesProblem('The compressed data ends too early: it is truncated. Copy or download it again.');
  if (code.startsWith('Z_')) return new BytesProblem('The compressed data is damaged. Copy or download it again.');
  return error;
}

/** Skips unreadable bytes; reading the part reports them. */
export async function headOf(source: AsyncIterable<Buffer>): Promise<Buffer> {
  const pieces: Buffer[] = [];
  try {
    await collectHead(source, pieces);
  } catch (error) {
    if (!(error instanceof BytesProblem)) throw error;
  }
  return Buffer.concat(pieces).subarray(0, HEAD_BYTES);
}

async function collectHead(source: AsyncIterable<Buffer>, pieces: Buffer[]): Promise<void> {
  let length = 0;
  for await (const chunk of source) {
    pieces.push(chunk);
    length += chunk.length;
    if (length >= HEAD_BYTES) return;
  }
}
