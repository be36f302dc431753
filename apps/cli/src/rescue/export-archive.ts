import { readdir, rename } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { quoted } from '#bootstrap';
import type { ExportRow } from '../export/export.types.js';
import { EmptyExportError, openExport } from '../export/open-export.js';
import { download } from './file-contents.js';
import { isPassingStatus, parsed, RefusedError, RequestError } from './leancloud-api.js';
import type { ExportState } from './manifest.schema.js';
import { attempt, type RescueContext, RUN_AGAIN } from './rescue-context.js';
import { codeOf, digestOf } from './rescue-folder.js';

const DAY_MS = 86_400_000;
const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const DATE_LENGTH = 10;
/** Browsers may have decompressed it. */
const ARCHIVE = /\.(?:tar\.gz|tgz|tar)$/i;
/** Status of a RequestError about a task without a usable archive: the next run starts another one. */
const UNUSABLE = 200;
const OLDEST_TASK_MS = 2 * DAY_MS;
const USER_COLUMNS = ['password', 'salt', 'sessionToken'] as const;
/** The page of LeanCloud's console that makes the archive without REST. */
export const CONSOLE_EXPORT = '数据存储 › 导入导出 › 数据导出';

const job = z.object({
  id: z.string().regex(/^\w{1,100}$/),
  status: z.string(),
  download_url: z.string().optional(),
});
type Job = z.infer<typeof job>;

export interface ExportOptions {
  /** Rows that changed from this day on, as `YYYY-MM-DD`; undefined: since the last export, or all. */
  readonly since: string | undefined;
  readonly pollS: number;
  readonly waitMinutes: number;
}

/** A later run exports changes with a day of overlap, because `from_date` counts days. Archives that the operator has put into `export/` count. */
export async function copyExports(context: RescueContext, options: ExportOptions): Promise<void> {
  await checkArchives(context);
  await takeUpArchives(context);
  const remedy = `${RUN_AGAIN} Or take it in the console, ${CONSOLE_EXPORT}, put the archive into export/, and run again.`;
  await attempt(context, { name: 'the export of all data', remedy }, () => copyExport(context, 'data', options));
  await attempt(context, { name: 'the export of schemas and permissions', remedy }, () =>
    copyExport(context, 'schema', options),
  );
}

async function checkArchives(context: RescueContext): Promise<void> {
  const { manifest, folder } = context;
  const kept: ExportState[] = [];
  for (const state of manifest.exports) {
    const { kind, path, sha256 } = state;
    const digest = path === undefined ? undefined : await digestOf(folder.resolve(path));
    const isKept = path === undefined || digest?.sha256 === sha256;
    // The operator has put another archive in its place, which is used instead.
    const isReplaced = kind === 'console' && digest !== undefined;
    if (isKept) kept.push(state);
    else if (!isReplaced) await setAside(context, path, digest !== undefined);
  }
  manifest.exports = kept;
  await folder.save();
}

async function setAside({ folder, progress }: RescueContext, path: string, isThere: boolean): Promise<void> {
  progress.say(`${path} is damaged or gone: a new export replaces it.`);
  if (isThere) await rename(folder.resolve(path), folder.resolve(`${path}.damaged`));
}

async function takeUpArchives(context: RescueContext): Promise<void> {
  const { manifest, folder, progress } = context;
  const known = new Set(manifest.exports.map(({ path }) => path));
  for (const name of await readdir(folder.resolve('export'))) {
    const path = `export/${name}`;
    if (!ARCHIVE.test(name) || known.has(path)) continue;
    const state: ExportState = { kind: 'console', id: null, startedAt: context.startedAt, fromDate: null };
    try {
      Object.assign(state, await digestOf(folder.resolve(path)), { classes: await inspect(folder.resolve(path)) });
      manifest.exports.push({ ...state, path });
      progress.say(`${quoted(path)} is taken up.`);
    } catch (error) {
      context.problems.set(quoted(path), {
        reason: `it is no complete archive (${codeOf(error)})`,
        remedy: 'Download it again, or remove it.',
      });
    }
  }
  await folder.save();
}

async function copyExport(context: RescueContext, kind: 'data' | 'schema', options: ExportOptions): Promise<void> {
  const { manifest, progress } = context;
  const isCurrent = (state: ExportState) => state.kind === kind && state.startedAt >= context.startedAt;
  if (manifest.exports.some((state) => isCurrent(state) && state.path !== undefined)) return;
  const open = manifest.exports.find((state) => state.kind === kind && state.path === undefined);
  if (open !== undefined && !isCurrent(open)) {
    // The open export of the last run first: later changes are exported after it.
    await completeExport(context, open, options).catch((error: unknown) => {
      if (!isGone(error)) throw error;
      progress.say(`The earlier export is gone: ${error.message}`);
    });
    await copyExport(context, kind, options);
    return;
  }
  await completeExport(context, open ?? (await start(context, kind, options)), options);
}

async function completeExport(context: RescueContext, state: ExportState, options: ExportOptions): Promise<void> {
  const { folder, progress } = context;
  const what = state.kind === 'data' ? 'all data' : 'schemas and permissions';
  progress.say(`LeanCloud makes the export of ${what}${state.fromDate === null ? '' : ` from ${state.fromDate} on`} …`);
  try {
    const url = await untilDone(context, state, options);
    await fetchArchive(context, state, url);
  } catch (error) {
    if (isGone(error)) await drop(context, state);
    throw error;
  } finally {
    await folder.save();
  }
}

/** LeanCloud no longer knows the task, or its archive is unusable: the next run starts a new one. */
function isGone(error: unknown): error is RequestError {
  if (!(error instanceof RequestError) || error instanceof RefusedError) return false;
  return error.status !== undefined && !isPassingStatus(error.status);
}

async function drop({ manifest, folder }: RescueContext, state: ExportState): Promise<void> {
  manifest.exports = manifest.exports.filter((each) => each !== state);
  await folder.remove(`${stemOf(state)}.part`);
}

function stemOf({ kind, startedAt, id }: ExportState): string {
  return `export/${kind}-${startedAt.slice(0, DATE_LENGTH)}-${(id ?? '').slice(0, 12)}`;
}

async function start(context: RescueContext, kind: 'data' | 'schema', options: ExportOptions): Promise<ExportState> {
  const { api, manifest, folder } = context;
  const fromDate = kind === 'data' ? (options.since ?? dayBeforeLast(manifest.exports)) : null;
  const body = {
    ...(kind === 'schema' ? { 'only-schema': 'true' } : {}),
    ...(fromDate === null ? {} : { from_date: fromDate }),
  };
  const { id } = parsed(job, await api.post('exportData', body), 'the answer to an export');
  const state: ExportState = { kind, id, startedAt: context.startedAt, fromDate };
  manifest.exports.push(state);
  await folder.save();
  return state;
}

/** The day before the last complete export; null where no archive holds all rows yet. */
function dayBeforeLast(exports: readonly ExportState[]): string | null {
  const complete = exports.filter(({ kind, path }) => kind === 'data' && path !== undefined);
  const last = complete.at(-1);
  if (last === undefined || complete.every(({ fromDate }) => fromDate !== null)) return null;
  return new Date(Date.parse(last.startedAt) - DAY_MS).toISOString().slice(0, DATE_LENGTH);
}

/** @returns the archive's URL, a credential. @throws RequestError */
async function untilDone(context: RescueContext, state: ExportState, options: ExportOptions): Promise<string> {
  const { api, progress } = context;
  const endMs = performance.now() + options.waitMinutes * MINUTE_MS;
  for (;;) {
    const { status, download_url: url } = await jobOf(context, state);
    if (status === 'done' && url !== undefined) return url;
    if (status !== 'running') throw new RequestError(`LeanCloud says that it is ${quoted(status)}`, UNUSABLE);
    if (Date.parse(context.startedAt) - Date.parse(state.startedAt) > OLDEST_TASK_MS)
      throw new RequestError(`LeanCloud has not made it since ${state.startedAt}`, UNUSABLE);
    if (performance.now() >= endMs)
      throw new RequestError(`LeanCloud still makes it after ${options.waitMinutes} minutes`);
    progress.phase(`LeanCloud makes the ${state.kind} export`);
    await sleep(options.pollS * SECOND_MS, undefined, { signal: api.signal });
    progress.phase('');
  }
}

async function jobOf({ api }: RescueContext, { id }: ExportState): Promise<Job> {
  return parsed(job, await api.get(`exportData/${id ?? ''}`), 'the state of an export');
}

async function fetchArchive(context: RescueContext, state: ExportState, url: string): Promise<void> {
  const { api, folder, progress } = context;
  const stem = stemOf(state);
  const temporary = `${stem}.part`;
  progress.phase(`downloading the ${state.kind} export`);
  const task = { url, temporary, isResumed: true, maxBytes: Infinity, signal: api.signal };
  const digest = await api.repeat(() => download(api, folder, task));
  const classes = await inspect(folder.resolve(temporary)).catch(async (error: unknown) => {
    await folder.remove(temporary);
    throw new RequestError(`the archive is damaged (${codeOf(error)})`, UNUSABLE);
  });
  const path = `${stem}.tar.gz`;
  await folder.publish(temporary, folder.resolve(path));
  Object.assign(state, { path, ...digest, classes });
  progress.phase('');
  const users = classes.find((each) => each.class === '_User');
  progress.say(
    `${path}: ${digest.bytes} bytes, ${classes.length} classes${
      users === undefined ? '' : `, ${users.rows} users, ${users.password ?? 0} with password`
    }`,
  );
}

type Exported = NonNullable<ExportState['classes']>[number];

async function inspect(path: string): Promise<Exported[]> {
  const found = new Map<string, Exported>();
  const archive = await openExport([path], Readable.from([])).catch(asNothing);
  // No row has changed since the previous export.
  if (archive === undefined) return [];
  try {
    if (archive.isDamaged) throw new RequestError('the archive ends early');
    const data = archive.parts.filter(({ kind }) => kind === 'rows');
    for await (const row of archive.rowsOf(data, { inAnyOrder: true })) count(found, row);
  } finally {
    await archive.close();
  }
  return [...found.values()];
}

function asNothing(error: unknown): undefined {
  if (!(error instanceof EmptyExportError) || error.isDamaged) throw error;
}

function count(found: Map<string, Exported>, row: ExportRow): void {
  const { className } = row;
  const isUser = className === '_User';
  const state = found.get(className) ?? {
    class: className,
    rows: 0,
    ...(isUser ? { password: 0, salt: 0, sessionToken: 0 } : {}),
  };
  found.set(className, state);
  state.rows += 1;
  if (!isUser || 'problem' in row) return;
  for (const column of USER_COLUMNS)
    if (typeof row.row[column] === 'string' && row.row[column] !== '') state[column] = (state[column] ?? 0) + 1;
}
