import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { FinalRequestError, type LeanCloudApi, reasonOf, RequestError } from './leancloud-api.js';
import type { RescueFolder } from './rescue-folder.js';

const PARTIAL = 206;
const NOT_SATISFIABLE = 416;
const NOT_OK = 300;

interface Download {
  readonly url: string;
  /** The unfinished file in the folder; with `isResumed` it may hold the first part. */
  readonly temporary: string;
  readonly isResumed: boolean;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
}

interface Downloaded {
  readonly bytes: number;
  readonly sha256: string;
}

interface Sink {
  readonly handle: FileHandle;
  hash: Hash;
  bytes: number;
}

/** Fetches a public URL into a file, without any credential. @throws RequestError, whose text has no URL */
export async function download(api: LeanCloudApi, folder: RescueFolder, task: Download): Promise<Downloaded> {
  const sink = await openSink(folder, task);
  try {
    await receive(api, task, sink);
    await sink.handle.sync();
    return { bytes: sink.bytes, sha256: sink.hash.digest('hex') };
  } catch (error) {
    if (error instanceof RequestError) throw error;
    if (task.signal.aborted) throw new FinalRequestError('the time limit is over');
    // A full disk is not a network error.
    if ((error as NodeJS.ErrnoException).syscall === 'write') throw error;
    throw new RequestError(reasonOf(error));
  } finally {
    await sink.handle.close();
  }
}

async function openSink(folder: RescueFolder, { temporary, isResumed }: Download): Promise<Sink> {
  const handle = await folder.create(temporary, isResumed ? 'a' : 'w');
  const sink = { handle, hash: createHash('sha256'), bytes: 0 };
  if (!isResumed) return sink;
  for await (const part of createReadStream(folder.resolve(temporary)) as AsyncIterable<Buffer>) {
    sink.hash.update(part);
    sink.bytes += part.length;
  }
  return sink;
}

async function receive(api: LeanCloudApi, { url, maxBytes, signal }: Download, sink: Sink): Promise<void> {
  const range: Record<string, string> = sink.bytes === 0 ? {} : { range: `bytes=${sink.bytes}-` };
  const { status, headers, body } = await api.open(url, range, signal);
  try {
    if (status === PARTIAL) assertContinues(headers['content-range'], sink.bytes);
    else if (status >= NOT_OK) await refuse(status, sink);
    else await restart(sink);
    const expected = expectedBytes(headers, sink.bytes);
    for await (const part of body as AsyncIterable<Buffer>) await store(part, sink, maxBytes);
    if (expected !== undefined && expected !== sink.bytes)
      throw new RequestError(`the answer ended after ${sink.bytes} of ${expected} bytes`);
  } finally {
    body.on('error', () => undefined).destroy();
  }
}

async function store(part: Buffer, sink: Sink, maxBytes: number): Promise<void> {
  if (sink.bytes + part.length > maxBytes) throw new FinalRequestError(`the file exceeds ${maxBytes} bytes`);
  await sink.handle.appendFile(part);
  sink.hash.update(part);
  sink.bytes += part.length;
}

function expectedBytes(headers: Readonly<Record<string, unknown>>, before: number): number | undefined {
  const { 'content-length': length, 'content-encoding': encoding } = headers;
  return typeof length === 'string' && /^\d{1,15}$/.test(length) && encoding === undefined
    ? before + Number(length)
    : undefined;
}

function assertContinues(range: unknown, bytes: number): void {
  if (typeof range !== 'string' || !range.startsWith(`bytes ${bytes}-`))
    throw new RequestError('the host answered with another part of the file');
}

/** The unfinished file cannot be continued: the next attempt starts anew. */
async function refuse(status: number, sink: Sink): Promise<never> {
  if (status === NOT_SATISFIABLE) await restart(sink);
  throw new RequestError(`the host answered ${status}`, status === NOT_SATISFIABLE ? undefined : status);
}

async function restart(sink: Sink): Promise<void> {
  if (sink.bytes === 0) return;
  await sink.handle.truncate(0);
  sink.bytes = 0;
  sink.hash = createHash('sha256');
}
