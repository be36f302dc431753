import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { z } from 'zod';
import { quoted } from '#bootstrap';
import { withTimeLimit } from '#outbound';
import { FinalRequestError, type LeanCloudApi, reasonOf, RequestError } from './leancloud-api.js';
import { eachAtOnce, type RescueContext } from './rescue-context.js';
import { digestOf, linesOf, parseRow, type RescueFolder, rowsOf } from './rescue-folder.js';

const SECOND_MS = 1_000;
/** Fewer than for the API: a failing file host fails for long. */
const ATTEMPTS = 4;
const PLAIN_ID = /^[0-9a-f]{24}$/;
const EXTENSION = /\.([A-Za-z0-9]{1,10})$/;
const SAVE_EVERY = 200;

export interface FileLimits {
  readonly maxBytes: number;
  readonly timeoutS: number;
}

interface FileRow {
  readonly objectId: string;
  readonly name: string;
  readonly url: string | undefined;
  readonly updatedAt: string;
}

const fileRecord = z.object({
  objectId: z.string(),
  name: z.string(),
  url: z.string(),
  updatedAt: z.string(),
  path: z.string(),
  bytes: z.number(),
  sha256: z.string(),
});
type FileRecord = z.infer<typeof fileRecord>;

/** The index gets a line after each content, so that a crash costs only the files in progress. Earlier ones are checked by size and SHA-256. */
export async function copyFiles(context: RescueContext, limits: FileLimits): Promise<void> {
  const rows = await rowsOfFiles(context);
  if (rows.size === 0) return;
  const index = await FileIndex.open(context);
  context.progress.expect(rows.size);
  try {
    await eachAtOnce(rows.values(), context.concurrency, async (row) => {
      await copyFile(context, { row, index, limits });
      context.progress.add(1);
    });
  } finally {
    await index.close();
  }
}

async function rowsOfFiles({ manifest, folder }: RescueContext): Promise<Map<string, FileRow>> {
  const scans = manifest.classes.find(({ name }) => name === '_File')?.scans ?? [];
  const found = new Map<string, FileRow>();
  for await (const row of rowsOf(scans.flatMap(({ files }) => files.map((name) => folder.resolve(name))))) {
    const { objectId } = row;
    if (typeof objectId !== 'string') continue;
    const [name, url, updatedAt] = [textOf(row['name']), textOf(row['url']), textOf(row['updatedAt'])];
    const known = found.get(objectId);
    if (known === undefined || known.updatedAt <= updatedAt)
      found.set(objectId, { objectId, name, url: url === '' ? undefined : url, updatedAt });
  }
  return found;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

interface FileTask {
  readonly row: FileRow;
  readonly index: FileIndex;
  readonly limits: FileLimits;
}

async function copyFile(context: RescueContext, { row, index, limits }: FileTask): Promise<void> {
  const { api, folder, problems } = context;
  const what = `file ${quoted(row.objectId)} (${quoted(row.name.slice(0, 100))})`;
  try {
    if (row.url === undefined) throw new FinalRequestError('its row has no url');
    if (await index.holds(row)) return;
    await api.inTurn(() => api.repeat(() => fetchFile(context, { row, index, limits }), ATTEMPTS));
    problems.delete(what);
  } catch (error) {
    api.signal.throwIfAborted();
    if (!(error instanceof RequestError)) throw error;
    await folder.remove(`${pathOf(row)}.tmp`);
    problems.set(what, { reason: error.message, remedy: 'Open its url in a browser; run again with other limits.' });
  }
}

async function fetchFile({ api, folder }: RescueContext, { row, index, limits }: FileTask): Promise<void> {
  const { objectId, name, url = '', updatedAt } = row;
  const path = pathOf(row);
  const signal = withTimeLimit(api.signal, limits.timeoutS * SECOND_MS);
  const temporary = `${path}.tmp`;
  const content = await download(api, folder, { url, temporary, isResumed: false, maxBytes: limits.maxBytes, signal });
  await folder.publish(temporary, folder.resolve(path));
  await index.add({ objectId, name, url, updatedAt, path, ...content });
}

/** Depends on the object id only: users of the application choose name and url. */
function pathOf({ objectId, name }: FileRow): string {
  const id = PLAIN_ID.test(objectId)
    ? objectId
    : `id-${createHash('sha256').update(objectId).digest('hex').slice(0, 32)}`;
  const [, extension] = EXTENSION.exec(name) ?? [];
  return `files/${id.slice(-2)}/${id}${extension === undefined ? '' : `.${extension.toLowerCase()}`}`;
}

class FileIndex {
  readonly #records = new Map<string, FileRecord>();
  #writing: Promise<void> = Promise.resolve();
  #added = 0;

  private constructor(private readonly context: RescueContext) {}

  static async open(context: RescueContext): Promise<FileIndex> {
    const index = new FileIndex(context);
    const path = context.folder.resolve(context.manifest.files.index);
    for await (const row of readRows(context.folder, context.manifest.files.index)) {
      const record = fileRecord.safeParse(row);
      if (record.success) index.#records.set(record.data.objectId, record.data);
    }
    // Rewritten: its last line may be torn.
    if (path !== '') await index.#compact();
    return index;
  }

  async holds({ objectId, url, name }: FileRow): Promise<boolean> {
    const record = this.#records.get(objectId);
    if (record === undefined || record.url !== url || record.name !== name) return false;
    const digest = await digestOf(this.context.folder.resolve(record.path));
    if (digest?.bytes === record.bytes && digest.sha256 === record.sha256) return true;
    this.context.progress.say(`${record.path} is damaged or gone: it is fetched again.`);
    return false;
  }

  add(record: FileRecord): Promise<void> {
    const { folder, manifest } = this.context;
    this.#records.set(record.objectId, record);
    this.#writing = this.#writing.then(async () => {
      const handle = await folder.create(manifest.files.index, 'a');
      try {
        await handle.appendFile(`${JSON.stringify(record)}\n`);
      } finally {
        await handle.close();
      }
      this.#added += 1;
      if (this.#added % SAVE_EVERY === 0) await this.#save();
    });
    return this.#writing;
  }

  async close(): Promise<void> {
    await this.#writing.catch(() => undefined);
    await this.#compact();
    await this.#save();
  }

  async #compact(): Promise<void> {
    const lines = [...this.#records.values()].map((record) => `${JSON.stringify(record)}\n`);
    await this.context.folder.write(this.context.manifest.files.index, lines.join(''));
  }

  #save(): Promise<void> {
    const { folder, manifest } = this.context;
    const records = [...this.#records.values()];
    manifest.files = {
      index: manifest.files.index,
      count: records.length,
      bytes: records.reduce((sum, { bytes }) => sum + bytes, 0),
    };
    return folder.save();
  }
}

async function* readRows(folder: RescueFolder, name: string): AsyncGenerator {
  const handle = await folder.create(name, 'a');
  await handle.close();
  for await (const line of linesOf(createReadStream(folder.resolve(name)) as AsyncIterable<Buffer>))
    yield parseRow(line);
}

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
