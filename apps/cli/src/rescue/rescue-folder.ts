import { createHash, randomUUID } from 'node:crypto';
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
/** A folder, as a rename replaces no folder that is not empty: it appears with its content, for one process. */
const LOCK = 'rescue.lock';
const HOLDER = 'holder';
const LOCK_REFRESH_MS = 10_000;
const LOCK_LIFE_MS = 60_000;
/** A row of LeanCloud has at most 128 KB, a user with many platforms somewhat more. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;
const SUBFOLDERS = ['export', 'scan', 'schema', 'files'];

/** Every file appears complete under its name (temporary name, fsync, rename): a crash leaves the folder usable. One process writes until `close`. */
export class RescueFolder {
  #saving: Promise<void> = Promise.resolve();
  #isSaveDue = false;
  #isLockLost = false;
  readonly #refreshing: NodeJS.Timeout;

  private constructor(
    readonly path: string,
    readonly manifest: Manifest,
    private readonly lockText: string,
  ) {
    this.#refreshing = setInterval(() => void this.#refreshLock().catch(() => undefined), LOCK_REFRESH_MS).unref();
  }

  static async open(path: string, application: string, api: string): Promise<RescueFolder> {
    try {
      await mkdir(path, { recursive: true, mode: FOLDER_MODE });
      const names = await readdir(path);
      if (names.length > 0 && !names.includes(MANIFEST) && !names.some((name) => name.startsWith(LOCK)))
        throw new StartError(`${path} holds other files. Name an empty or new folder with --out.`);
      await chmod(path, FOLDER_MODE);
      const lockText = await lock(path);
      const manifest = await readManifest(path, application, api).catch(async (error: unknown) => {
        await rm(join(path, LOCK), { recursive: true, force: true });
        throw error;
      });
      for (const name of SUBFOLDERS) await mkdir(join(path, name), { recursive: true, mode: FOLDER_MODE });
      return new RescueFolder(path, manifest, lockText);
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

  /** Calls during a write share the next one. @throws StartError if another process has taken the folder over */
  save(): Promise<void> {
    if (!this.#isSaveDue) {
      this.#isSaveDue = true;
      const next = async () => {
        this.#isSaveDue = false;
        if (this.#isLockLost)
          throw new StartError(`Another process has taken over ${this.path}. Run the command again after its end.`);
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
    if (await this.#holdsLock()) await rm(this.resolve(LOCK), { recursive: true, force: true });
  }

  /** A process that was suspended for a minute may find the lock of another. */
  async #refreshLock(): Promise<void> {
    this.#isLockLost = !(await this.#holdsLock());
    const now = new Date();
    if (!this.#isLockLost) await utimes(join(this.resolve(LOCK), HOLDER), now, now);
  }

  async #holdsLock(): Promise<boolean> {
    return (await textOf(this.resolve(LOCK))) === this.lockText;
  }
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r+').catch(() => open(path, 'r'));
  try {
    await handle.sync();
  } catch (error) {
    if (!['EINVAL', 'EPERM', 'EISDIR', 'EBADF'].includes(codeOf(error))) throw error;
  } finally {
    await handle.close();
  }
}

/** @returns the text of the lock, which no other lock has. @throws StartError while another process holds the lock */
async function lock(path: string): Promise<string> {
  const [file, id] = [join(path, LOCK), randomUUID()];
  const text = `${hostname()} ${process.pid} ${id}`;
  await mkdir(`${file}.${id}`, { mode: FOLDER_MODE });
  await writeFile(join(`${file}.${id}`, HOLDER), text, { mode: FILE_MODE });
  try {
    while (!(await isMoved(`${file}.${id}`, file))) await removeStale(file);
  } finally {
    await rm(`${file}.${id}`, { recursive: true, force: true });
  }
  return text;
}

/** @returns false if a lock is there */
async function isMoved(source: string, target: string): Promise<boolean> {
  try {
    await rename(source, target);
    return true;
  } catch (error) {
    if (['EEXIST', 'ENOTEMPTY', 'ENOTDIR'].includes(codeOf(error))) return false;
    throw error;
  }
}

/** One process at a time: another one could mistake the lock that replaces a stale one for the stale one. */
async function removeStale(file: string): Promise<void> {
  const guard = `${file}.takeover`;
  if (!(await isMade(guard))) throw inUse(dirname(file), 'Another process');
  try {
    const holder = await holderOf(file);
    if (holder !== undefined) throw inUse(dirname(file), holder);
    await rename(file, join(guard, LOCK)).catch(() => undefined);
  } finally {
    await rm(guard, { recursive: true, force: true });
  }
}

async function isMade(guard: string): Promise<boolean> {
  const stats = await stat(guard).catch(() => undefined);
  if (stats !== undefined && Date.now() - stats.mtimeMs >= LOCK_LIFE_MS) await rm(guard, { recursive: true });
  return mkdir(guard, { mode: FOLDER_MODE }).then(
    () => true,
    () => false,
  );
}

/** @returns undefined without a lock, or for one of an earlier version */
function textOf(file: string): Promise<string | undefined> {
  return readFile(join(file, HOLDER), 'utf8').catch((error: unknown) => {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error))) return undefined;
    throw error;
  });
}

function inUse(path: string, holder: string): StartError {
  return new StartError(
    `${holder} uses ${path}: wait for its end. If it was killed, run again after ${LOCK_LIFE_MS / 1_000} seconds.`,
  );
}

/** Processes of other hosts and containers are invisible, also one with our id: their locks end by age. */
async function holderOf(file: string): Promise<string | undefined> {
  const [text, stats] = await Promise.all([textOf(file), stat(join(file, HOLDER)).catch(() => undefined)]);
  if (text === undefined || stats === undefined || Date.now() - stats.mtimeMs >= LOCK_LIFE_MS) return undefined;
  const [host = '', pid = ''] = text.split(' ');
  if (host !== hostname()) return `Process ${pid} on the host ${host}`;
  return isAlive(Number(pid)) ? `Process ${pid}` : undefined;
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
