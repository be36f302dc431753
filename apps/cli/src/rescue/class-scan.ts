import { z } from 'zod';
import { quoted } from '#bootstrap';
import { type LeanCloudApi, parsed, RefusedError, RequestError } from './leancloud-api.js';
import { type ClassState, coverageOf, type ScanState } from './manifest.schema.js';
import { attempt, eachAtOnce, fileNameOf, headerOf, isPlainName, type RescueContext } from './rescue-context.js';
import { rowsOf } from './rescue-folder.js';

/** A file is written, and the scan can continue behind it, after so many rows or bytes. */
const FILE_ROWS = 10_000;
const FILE_BYTES = 16 * 1024 * 1024;
/** LeanCloud stamps `updatedAt` before it stores a row, and the clocks of its servers differ. */
const OVERLAP_MS = 10 * 60_000;
/** A scan with so many rows beyond twice the count fails: the server repeats rows. */
const SURPLUS_ROWS = 100_000;
const OBJECT_ID = /^[0-9a-f]{24}$/;
/** Falls back to a smaller page where LeanCloud fails to deliver one. 1,000 is the limit of the endpoint. */
const PAGE_SIZES = [1_000, 100, 10] as const;
const SERVER_ERRORS = 500;
const STEPS: Readonly<Record<string, number>> = { '{': 1, '[': 1, '}': -1, ']': -1 };

const counted = z.object({ count: z.number().int().nonnegative() });

export async function scanClasses(
  context: RescueContext,
  names: readonly string[],
  since: string | undefined,
): Promise<void> {
  for (const name of names.filter((each) => !isPlainName(each)))
    context.problems.set(`class ${quoted(name)}`, {
      reason: 'LeanCloud permits no such name, so its rows were not scanned',
      remedy: 'Look for the class in the archive in export/.',
    });
  const states = names.filter(isPlainName).map((name) => stateOf(context, name));
  await eachAtOnce(states, context.concurrency, (state) =>
    attempt(context, { name: `class ${state.name}` }, () => expectRows(context, state, since)),
  );
  await eachAtOnce(states, context.concurrency, (state) =>
    attempt(context, { name: `class ${state.name}` }, () => copyClass(context, state, names)),
  );
}

function stateOf({ manifest }: RescueContext, name: string): ClassState {
  const found = manifest.classes.find((each) => each.name === name);
  if (found !== undefined) return found;
  const state = { name, serverRows: null, rows: null, scans: [] };
  manifest.classes.push(state);
  return state;
}

async function expectRows(context: RescueContext, state: ClassState, since: string | undefined): Promise<void> {
  const open = state.scans.find(({ finishedAt }) => finishedAt === undefined);
  const last = state.scans.at(-1);
  // A scan that finished in this run before a crash is not repeated.
  if (open === undefined && last !== undefined && last.startedAt >= context.startedAt) return;
  if (open === undefined) {
    state.scans.push(newScan(startOf(state, since), context.startedAt));
    state.rows = null;
  }
  const scan = state.scans.at(-1);
  if (scan === undefined) return;
  context.progress.expect(Math.max(0, (await countRows(context, state.name, scan.since)) - scan.rows));
}

/** After one complete scan only rows that changed since it. */
function startOf(state: ClassState, since: string | undefined): string | null {
  const last = state.scans.at(-1);
  if (last === undefined || coverageOf(state) !== null) return since ?? null;
  const changed = earlier(last.startedAt);
  return since !== undefined && since < changed ? since : changed;
}

function newScan(since: string | null, startedAt: string): ScanState {
  return { since, startedAt, lastId: null, isOrdered: true, rows: 0, files: [] };
}

function earlier(time: string): string {
  return new Date(Date.parse(time) - OVERLAP_MS).toISOString();
}

async function copyClass(context: RescueContext, state: ClassState, names: readonly string[]): Promise<void> {
  const scan = state.scans.at(-1);
  if (scan?.finishedAt !== undefined && state.rows !== null) return;
  if (scan !== undefined && scan.finishedAt === undefined) await copyRows(context, state, names);
  state.serverRows = await countRows(context, state.name, coverageOf(state));
  state.rows = await countCopied(context, state);
  if (state.rows < state.serverRows) {
    state.scans.push(newScan(earlier(scan?.startedAt ?? context.startedAt), context.startedAt));
    await copyRows(context, state, names);
    state.rows = await countCopied(context, state);
  }
  await context.folder.save();
}

async function countRows({ api }: RescueContext, name: string, since: string | null): Promise<number> {
  const where: Record<string, string> = since === null ? {} : { where: JSON.stringify(whereOf(since, null)) };
  const text = await api.get(`classes/${name}`, { count: '1', limit: '0', ...where });
  return parsed(counted, text, `the count of ${name}`).count;
}

/** Counts distinct object ids. A single ordered scan has no duplicates. */
async function countCopied({ folder }: RescueContext, { scans }: ClassState): Promise<number> {
  const [first, ...others] = scans.filter(({ rows }) => rows > 0);
  if (first === undefined) return 0;
  if (others.length === 0 && first.isOrdered) return first.rows;
  return (await idsIn(scans.flatMap(({ files }) => files.map((name) => folder.resolve(name))))).size;
}

export async function idsIn(paths: readonly string[]): Promise<Set<string>> {
  const ids = new Set<string>();
  for await (const { objectId } of rowsOf(paths)) if (typeof objectId === 'string') ids.add(objectId);
  return ids;
}

/** A cursor lives ten minutes, so the scan continues by object id: the endpoint orders rows by id. Else it starts anew; duplicate rows are harmless. */
async function copyRows(context: RescueContext, state: ClassState, names: readonly string[]): Promise<void> {
  const scan = state.scans.at(-1);
  if (scan === undefined) return;
  const most = 2 * (await countRows(context, state.name, scan.since)) + SURPLUS_ROWS;
  const position: Position = {
    since: scan.since,
    lastId: scan.isOrdered ? scan.lastId : null,
    isOrdered: scan.isOrdered,
  };
  const batch = new Batch(context, state, fileNameOf(state.name, names));
  let seen = 0;
  for await (const { lines, ids } of new ScanPages(context.api, state.name, position)) {
    position.isOrdered &&= isAscending(position.lastId ?? '', ids);
    position.lastId = ids.at(-1) ?? position.lastId;
    batch.add(lines);
    seen += lines.length;
    if (seen > most) throw new RequestError(`the scan gave more than ${most} rows and did not end`);
    if (batch.isFull()) await batch.write(position);
  }
  await batch.write(position, new Date().toISOString());
}

function isAscending(before: string, ids: readonly string[]): boolean {
  let last = before;
  for (const id of ids) {
    if (!OBJECT_ID.test(id) || id <= last) return false;
    last = id;
  }
  return true;
}

class Batch {
  rows = 0;
  #lines: string[] = [];
  #bytes = 0;

  constructor(
    private readonly context: RescueContext,
    private readonly state: ClassState,
    private readonly fileName: string,
  ) {}

  add(lines: readonly string[]): void {
    this.#lines.push(...lines);
    this.rows += lines.length;
    for (const line of lines) this.#bytes += line.length;
    this.context.progress.add(lines.length);
  }

  isFull(): boolean {
    return this.rows >= FILE_ROWS || this.#bytes >= FILE_BYTES;
  }

  /** Writes the file, then the manifest that names it: after a crash in between, the next run overwrites the file. */
  async write({ lastId, isOrdered }: Position, finishedAt?: string): Promise<void> {
    const { folder } = this.context;
    const scan = this.state.scans.at(-1);
    if (scan === undefined) return;
    if (this.rows > 0) {
      const number = this.state.scans.reduce((sum, { files }) => sum + files.length, 0);
      const name = `scan/${this.fileName}.${number}.jsonl`;
      await folder.write(name, `${headerOf(this.state.name)}${this.#lines.join('\n')}\n`);
      scan.files.push(name);
      scan.rows += this.rows;
    }
    Object.assign(scan, { lastId, isOrdered, ...(finishedAt === undefined ? {} : { finishedAt }) });
    [this.#lines, this.rows, this.#bytes] = [[], 0, 0];
    await folder.save();
  }
}

const page = z.object({
  results: z.array(z.looseObject({ objectId: z.string() })),
  cursor: z.string().nullish(),
});

interface Page {
  /** As LeanCloud wrote them: numbers over 2^53 stay exact. */
  readonly lines: readonly string[];
  readonly ids: readonly string[];
  readonly cursor: string | undefined;
}

interface Position {
  readonly since: string | null;
  lastId: string | null;
  isOrdered: boolean;
}

function whereOf(since: string | null, lastId: string | null): object {
  return {
    ...(since === null ? {} : { updatedAt: { $gte: { __type: 'Date', iso: since } } }),
    ...(lastId === null ? {} : { objectId: { $gt: lastId } }),
  };
}

/** Reads pages from the position on, which the caller moves with each page. */
class ScanPages {
  #sizes: readonly number[] = PAGE_SIZES;
  #cursor: string | undefined;
  /** A cursor is valid only for the condition that it began with. */
  #after: string | null;
  #failures = 0;

  constructor(
    private readonly api: LeanCloudApi,
    private readonly name: string,
    private readonly position: Position,
  ) {
    this.#after = position.lastId;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Page> {
    for (;;) {
      const found = await this.#read();
      if (found === undefined) continue;
      yield found;
      if (found.cursor === undefined) return;
    }
  }

  /** @returns undefined where the next request is another attempt */
  async #read(): Promise<Page | undefined> {
    try {
      const found = await this.#request();
      this.#failures = 0;
      this.#cursor = found.cursor;
      return found;
    } catch (error) {
      this.#restart(error);
      return undefined;
    }
  }

  async #request(): Promise<Page> {
    const where = whereOf(this.position.since, this.#after);
    const query = {
      limit: String(this.#sizes[0]),
      ...(Object.keys(where).length === 0 ? {} : { where: JSON.stringify(where) }),
      ...(this.#cursor === undefined ? {} : { cursor: this.#cursor }),
    };
    const text = await this.api.get(`scan/classes/${this.name}`, query);
    const { results, cursor } = parsed(page, text, `a page of ${this.name}`);
    return { lines: linesIn(text, results), ids: results.map(({ objectId }) => objectId), cursor: cursor ?? undefined };
  }

  /** Continues behind the last row without a cursor; with a smaller page unless the cursor was refused. */
  #restart(error: unknown): void {
    this.#failures += 1;
    // Without order the scan would begin anew: that is the next run's work.
    if (!(error instanceof RequestError) || error instanceof RefusedError || !this.position.isOrdered) throw error;
    const isCursorRefused = this.#cursor !== undefined && error.status !== undefined && error.status < SERVER_ERRORS;
    if (!isCursorRefused) this.#sizes = this.#sizes.slice(1);
    if (this.#sizes.length === 0 || this.#failures > PAGE_SIZES.length) throw error;
    this.#cursor = undefined;
    this.#after = this.position.lastId;
  }
}

/** The rows of a page as text: JSON.parse would round numbers over 2^53. @param results the same rows parsed, used if the text has an unexpected form */
export function linesIn(text: string, results: readonly object[]): string[] {
  const start = /^\s*\{\s*"results"\s*:\s*\[/.exec(text)?.[0].length;
  const lines = start === undefined ? [] : elementsOf(text, start);
  return lines.length === results.length ? lines : results.map((row) => JSON.stringify(row));
}

function elementsOf(text: string, start: number): string[] {
  const found: string[] = [];
  const token = /"(?:[^"\\]+|\\.)*"|[{}[\]]/gs;
  token.lastIndex = start;
  let [depth, begin] = [0, start];
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    const [sign] = match;
    if (depth === 0 && sign === '{') begin = match.index;
    depth += STEPS[sign] ?? 0;
    if (depth < 0) break;
    // Valid JSON has line breaks between its tokens only.
    if (depth === 0 && sign === '}') found.push(text.slice(begin, token.lastIndex).replaceAll(/[\r\n]+/g, ' '));
  }
  return found;
}
