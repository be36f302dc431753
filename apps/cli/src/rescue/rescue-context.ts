import { createHash } from 'node:crypto';
import { ProgressLine, spanOf } from '../terminal.js';
import { type LeanCloudApi, RefusedError, RequestError } from './leancloud-api.js';
import type { Manifest } from './manifest.schema.js';
import type { RescueFolder } from './rescue-folder.js';

export interface RescueContext {
  readonly api: LeanCloudApi;
  readonly folder: RescueFolder;
  readonly manifest: Manifest;
  readonly progress: Progress;
  readonly problems: Problems;
  readonly startedAt: string;
  readonly concurrency: number;
}

/** By name of the part. A problem that is solved later in the run is removed. */
export type Problems = Map<string, { readonly reason: string; readonly remedy: string }>;

const CLASS_NAME = /^[A-Za-z_]\w{0,199}$/;
const DEVICE_NAME = /^(?:con|prn|aux|nul|com\d|lpt\d)$/i;

export const RUN_AGAIN = 'Run the same command again.';

/** Records a failure by name, so that other parts go on, unless every request would fail. @throws RefusedError */
export async function attempt(
  { problems, progress }: RescueContext,
  part: { readonly name: string; readonly remedy?: string },
  work: () => Promise<void>,
): Promise<void> {
  try {
    await work();
    problems.delete(part.name);
  } catch (error) {
    if (!(error instanceof RequestError) || error instanceof RefusedError) throw error;
    problems.set(part.name, { reason: error.message, remedy: part.remedy ?? RUN_AGAIN });
    progress.say(`${part.name}: ${error.message}`);
  }
}

/** Whether LeanCloud could have given a class or column this name: others never become a path. */
export function isPlainName(name: string): boolean {
  return CLASS_NAME.test(name);
}

/** Names that a file system without case mixes up, or Windows reserves, get a suffix; the first line of the file has the original. */
export function fileNameOf(name: string, all: readonly string[]): string {
  const isShared = all.some((other) => other !== name && other.toLowerCase() === name.toLowerCase());
  if (!isShared && !DEVICE_NAME.test(name)) return name;
  return `${name}-${createHash('sha256').update(name).digest('hex').slice(0, 8)}`;
}

/** Source: LeanCloud's exports. */
export function headerOf(className: string): string {
  return `#filetype:JSON-streaming ${JSON.stringify({ type: 'Class', class: className })}\n`;
}

/** Works on several items at once. @throws the first error, after the end of the others */
export async function eachAtOnce<T>(
  items: Iterable<T>,
  concurrency: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = items[Symbol.iterator]();
  const errors: unknown[] = [];
  const worker = async () => {
    for (let next = waiting.next(); next.done !== true && errors.length === 0; next = waiting.next())
      await work(next.value).catch((error: unknown) => errors.push(error));
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  if (errors.length > 0) throw errors[0];
}

export class Progress {
  readonly #line = new ProgressLine((seconds) => this.#text(seconds));
  #rows = 0;
  #total = 0;
  #phase = '';

  say(line: string): void {
    this.#line.say(line);
  }

  phase(text: string): void {
    this.#phase = text;
  }

  expect(rows: number): void {
    this.#total += rows;
  }

  add(rows: number): void {
    this.#rows += rows;
  }

  stop(): void {
    this.#line.stop();
  }

  #text(seconds: number): string {
    const speed = this.#rows / Math.max(seconds, 1);
    const left = speed > 0 ? Math.max(0, this.#total - this.#rows) / speed : 0;
    const rows = `${this.#rows} of about ${Math.max(this.#total, this.#rows)} rows and files, ${speed.toFixed(0)} a second`;
    return `${rows}${left > 0 ? `, ${spanOf(left)} left` : ''}${this.#phase === '' ? '' : `; ${this.#phase}`}`;
  }
}
