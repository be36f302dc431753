import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import {
  chmod,
  type FileHandle,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { StartError } from '#bootstrap';
import { type Manifest, importedPaths, manifestSchema, newManifest } from './manifest.schema.js';

const FOLDER_MODE = 0o700;
const FILE_MODE = 0o600;
const MANIFEST = 'manifest.json';
const LOCK = 'rescue.lock';
const LOCK_REFRESH_MS = 10_000;
/** Older locks are stale. */
const LOCK_LIFE_MS = 60_000;
/** A row of LeanCloud has at most 128 KB, a user with many platforms somewhat more. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;
const CLASS_NAME = /^[A-Za-z_]\w{0,199}$/;
const DEVICE_NAME = /^(?:con|prn|aux|nul|com\d|lpt\d)$/i;
const SUBFOLDERS = ['export', 'scan', 'schema', 'files'];

/**
 * The folder of one application. Every file appears complete under its name (temporary name, fsync, rename): a crash leaves the folder
 * usable. Only this process writes to it, until `close`.
 */
export class RescueFolder {
  #saving: Promise<void> = Promise.resolve();
  #isSaveDue = false;
  readonly #refreshing: NodeJS.Timeout;

  private constructor(
    readonly path: string,
    readonly manifest: Manifest,
  ) {
    this.#refreshing = setInterval(() => {
      const now = new Date();
      void utimes(this.resolve(LOCK), now, now).catch(() => undefined);
    }, LOCK_REFRESH_MS).unref();
  }

  /** @throws StartError if the folder belongs to another application or process, or holds other files */
  static async open(path: string, application: string, api: string): Promise<RescueFolder> {
    try {
      await mkdir(path, { recursive: true, mode: FOLDER_MODE });
      const names = await readdir(path);
      if (names.length > 0 && !names.includes(MANIFEST) && !names.includes(LOCK))
        throw new StartError(`${path} holds other files. Name an empty or new folder with --out.`);
      await chmod(path, FOLDER_MODE);
      await lock(path);
      for (const name of SUBFOLDERS) await mkdir(join(path, name), { recursive: true, mode: FOLDER_MODE });
      const manifest = await readManifest(path, application, api);
      return new RescueFolder(path, manifest);
    } catch (error) {
      if (error instanceof StartError) throw error;
      throw new StartError(`${path} cannot be used: ${codeOf(error)}. Name another folder with --out.`, {
        cause: error,
      });
    }
  }

  /** @param name from this program, never from a server */
  resolve(name: string): string {
    return join(this.path, name);
  }

  /** Atomic. */
  async write(name: string, content: string): Promise<void> {
    const target = this.resolve(name);
    const handle = await this.create(`${name}.tmp`);
    try {
      await handle.writeFile(content);
    } finally {
      await handle.close();
    }
    await this.publish(`${name}.tmp`, target);
  }

  async create(name: string, flags: 'w' | 'a' = 'w'): Promise<FileHandle> {
    const target = this.resolve(name);
    await mkdir(dirname(target), { recursive: true, mode: FOLDER_MODE });
    return open(target, flags, FILE_MODE);
  }

  async publish(temporary: string, target: string): Promise<void> {
    const source = this.resolve(temporary);
    await sync(source);
    await rename(source, target);
    await sync(dirname(target));
  }

  async remove(name: string): Promise<void> {
    await rm(this.resolve(name), { force: true });
  }

  /** Calls during a write share the next one. */
  save(): Promise<void> {
    if (!this.#isSaveDue) {
      this.#isSaveDue = true;
      const next = async () => {
        this.#isSaveDue = false;
        this.manifest.import = importedPaths(this.manifest);
        await this.write(MANIFEST, `${JSON.stringify(this.manifest, undefined, 1)}\n`);
      };
      this.#saving = this.#saving.then(next, next);
    }
    return this.#saving;
  }

  async close(): Promise<void> {
    clearInterval(this.#refreshing);
    await this.#saving.catch(() => undefined);
    await this.remove(LOCK);
  }
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r+').catch(() => open(path, 'r'));
  try {
    await handle.sync();
  } catch (error) {
    // Some systems cannot sync a folder.
    if (!['EINVAL', 'EPERM', 'EISDIR', 'EBADF'].includes(codeOf(error))) throw error;
  } finally {
    await handle.close();
  }
}

async function lock(path: string): Promise<void> {
  const file = join(path, LOCK);
  const holder = await holderOf(file);
  if (holder !== undefined)
    throw new StartError(
      `${holder} uses ${path}: wait for its end. If it was killed, run again after ${LOCK_LIFE_MS / 1_000} seconds.`,
    );
  await rm(file, { force: true });
  await writeFile(file, `${hostname()} ${process.pid}`, { flag: 'wx', mode: FILE_MODE });
}

/** Processes of other hosts, such as containers, are invisible: their locks end by age. */
async function holderOf(file: string): Promise<string | undefined> {
  const [text, stats] = await Promise.all([readFile(file, 'utf8').catch(() => ''), stat(file).catch(() => undefined)]);
  const [, host, pid = ''] = /^(\S+) (\d+)$/.exec(text) ?? [];
  if (host === undefined || stats === undefined || Date.now() - stats.mtimeMs >= LOCK_LIFE_MS) return undefined;
  if (host !== hostname()) return `Process ${pid} on the host ${host}`;
  return Number(pid) !== process.pid && isAlive(Number(pid)) ? `Process ${pid}` : undefined;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) !== 'ESRCH';
  }
}

async function readManifest(path: string, application: string, api: string): Promise<Manifest> {
  const text = await readFile(join(path, MANIFEST), 'utf8').catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (text === undefined) return newManifest(application, api);
  const manifest = parseManifest(path, text);
  if (manifest.application === application) return { ...manifest, api };
  throw new StartError(`${path} holds the application ${manifest.application}. Name another folder with --out.`);
}

function parseManifest(path: string, text: string): Manifest {
  try {
    return manifestSchema.parse(JSON.parse(text));
  } catch (cause) {
    throw new StartError(`${join(path, MANIFEST)} is not a manifest of this version. Name another folder with --out.`, {
      cause,
    });
  }
}

export function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? (error as Error).name;
}

/** Whether LeanCloud could have given a class or column this name: others never become a path. */
export function isPlainName(name: string): boolean {
  return CLASS_NAME.test(name);
}

/**
 * Names that a case-insensitive file system would mix up, and names that Windows reserves, get a suffix; the first line of the file
 * has the original name.
 */
export function fileNameOf(name: string, all: readonly string[]): string {
  const isShared = all.some((other) => other !== name && other.toLowerCase() === name.toLowerCase());
  if (!isShared && !DEVICE_NAME.test(name)) return name;
  return `${name}-${createHash('sha256').update(name).digest('hex').slice(0, 8)}`;
}

/** Source: LeanCloud's exports. */
export function headerOf(className: string): string {
  return `#filetype:JSON-streaming ${JSON.stringify({ type: 'Class', class: className })}\n`;
}

/** A line over 16 MiB comes as an empty one. */
export async function* linesOf(stream: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let rest: Buffer[] = [];
  let length = 0;
  for await (const part of stream) {
    let start = 0;
    for (let end = part.indexOf(10); end !== -1; end = part.indexOf(10, start)) {
      yield length > MAX_LINE_BYTES ? '' : Buffer.concat([...rest, part.subarray(start, end)]).toString('utf8');
      [rest, length, start] = [[], 0, end + 1];
    }
    length += part.length - start;
    if (length <= MAX_LINE_BYTES) rest.push(part.subarray(start));
    else rest = [];
  }
  if (length > 0 && length <= MAX_LINE_BYTES) yield Buffer.concat(rest).toString('utf8');
}

export async function* rowsOf(paths: readonly string[]): AsyncGenerator<Record<string, unknown>> {
  for (const path of paths) {
    const lines = linesOf(createReadStream(path) as AsyncIterable<Buffer>);
    for await (const line of lines) yield* rowIn(line);
  }
}

function rowIn(line: string): Record<string, unknown>[] {
  const row = parseRow(line);
  return row === undefined ? [] : [row];
}

/** Undefined for a header, an empty line, and anything but a JSON object. */
export function parseRow(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

export async function digestOf(path: string): Promise<{ bytes: number; sha256: string } | undefined> {
  try {
    const { size } = await stat(path);
    const hash = createHash('sha256');
    for await (const part of createReadStream(path) as AsyncIterable<Buffer>) hash.update(part);
    return { bytes: size, sha256: hash.digest('hex') };
  } catch {
    return undefined;
  }
}
