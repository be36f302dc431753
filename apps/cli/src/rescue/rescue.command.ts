import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { quoted, Secret, StartError } from '#bootstrap';
import { onInterruption, print, reportFailure, withoutLastBreak } from '../terminal.js';
import { scanClasses } from './class-scan.js';
import { copyExports, type ExportOptions } from './export-archive.js';
import { copyFiles } from './file-contents.js';
import { LeanCloudApi, parsed, RequestError } from './leancloud-api.js';
import type { Manifest } from './manifest.schema.js';
import { copyRelations, type Schemas, schemas } from './relations.js';
import { fileNameOf, isPlainName, Progress, type RescueContext, RUN_AGAIN } from './rescue-context.js';
import { codeOf, RescueFolder } from './rescue-folder.js';
import { type Ending, missingFrom, notesOn, printSummary, summaryOf } from './rescue-summary.js';

const OTHERS = 0o077;
const PARTIAL = 2;
const MIB = 1024 * 1024;
const SECOND_MS = 1_000;
/** A continued run that began longer ago is followed by one that fetches later changes. */
const OLDEST_CONTINUED_MS = 60 * 60 * SECOND_MS;
const KEY = /^[\x21-\x7e]{1,200}$/;

const HELP = `
It copies everything of an application of LeanCloud into a folder: the export with passwords, all rows, relations, and the
contents of files. It needs no Gatepost server. "gatepost import <folder>" reads the folder later.

  npm run gatepost -- rescue --url https://api.example.com --id APP_ID --master-key-file key.txt --out rescue

Run it again to continue after an interruption, and later to fetch what is new. LeanCloud ends on 2027-01-12.
The folder then holds password hashes and sessions: keep it private, and delete it after the import.
Exit status: 0 everything is there; 2 something is missing, which the output names; 1 nothing was done.`;

const date = z.object({ iso: z.iso.datetime() });

interface RescueOptions {
  readonly url: string;
  readonly id: string;
  readonly masterKeyFile: string;
  readonly out: string;
  readonly since?: string;
  readonly concurrency: number;
  readonly timeout: number;
  readonly fileTimeout: number;
  readonly maxFileMb: number;
  readonly exportPoll: number;
  readonly exportWait: number;
  readonly allowInternal: string[];
  readonly json?: true;
}

export function rescueCommand(): Command {
  return new Command('rescue')
    .description('copy everything of an application of LeanCloud into a folder, before LeanCloud ends')
    .requiredOption('--url <url>', "the application's API domain, such as https://api.example.com", apiUrl)
    .requiredOption('--id <id>', 'application id', appId)
    .requiredOption('--master-key-file <file>', 'file with the master key; no other user may read it (chmod 600)')
    .requiredOption('--out <folder>', 'folder to create or to complete')
    .option('--since <date>', 'only rows that changed from this day on, as YYYY-MM-DD', day)
    .option('--concurrency <n>', 'requests at once', numberIn(1, 32), 4)
    .option('--timeout <seconds>', 'how long a server may be silent', numberIn(1, 600), 60)
    .option('--file-timeout <seconds>', 'time limit of the content of one file', numberIn(1, 86_400), 900)
    .option('--max-file-mb <n>', 'size limit of the content of one file, in MiB', numberIn(1, 1_000_000), 2_048)
    .option(
      '--export-poll <seconds>',
      'how often to ask LeanCloud whether an export is ready, in seconds',
      numberIn(1, 3_600),
      15,
    )
    .option('--export-wait <minutes>', 'how long to wait for one export', numberIn(0, 10_000), 720)
    .option('--allow-internal <networks>', 'internal addresses that may be reached, separated by commas', networks, [])
    .option('--json', 'print the summary as JSON')
    .addHelpText('after', HELP)
    .action(rescue);
}

async function rescue(options: RescueOptions): Promise<void> {
  const masterKey = masterKeyIn(options.masterKeyFile);
  const interruption = new AbortController();
  const stopListening = onInterruption(['SIGINT', 'SIGTERM'], () => {
    interruption.abort();
  });
  const progress = new Progress();
  const api = new LeanCloudApi({
    baseUrl: options.url,
    appId: options.id,
    masterKey,
    internalNetworks: options.allowInternal,
    concurrency: options.concurrency,
    timeoutMs: options.timeout * SECOND_MS,
    interruption,
    onWait: (line) => {
      progress.say(line);
    },
  });
  try {
    await rescueWith(api, progress, options);
  } finally {
    progress.stop();
    stopListening();
    await api.close();
  }
}

async function rescueWith(api: LeanCloudApi, progress: Progress, options: RescueOptions): Promise<void> {
  // Checks address and key before anything is written.
  const { now, names, classes } = await firstAnswers(api);
  const folder = await RescueFolder.open(options.out, options.id, options.url);
  try {
    const parts = { api, folder, progress, now, concurrency: options.concurrency };
    let context = contextOf(parts);
    await folder.save();
    let ending = await copyEverything(context, { names, classes }, options);
    if (ending === 'finished' && Date.parse(now) - Date.parse(context.startedAt) > OLDEST_CONTINUED_MS) {
      // The parts that the earlier process has copied are as old as the run.
      markRun(folder.manifest, ending);
      context = contextOf(parts);
      ending = await copyEverything(context, { names, classes }, options);
    }
    await finish(context, ending, options);
  } finally {
    await folder.close();
  }
}

interface Application {
  readonly classes: Schemas;
  /** Includes names such as `__proto__`, which `classes` cannot hold. */
  readonly names: readonly string[];
}

async function firstAnswers(api: LeanCloudApi): Promise<Application & { readonly now: string }> {
  try {
    const now = parsed(date, await api.get('date'), 'a date').iso;
    const text = await api.get('schemas');
    const classes = parsed(schemas, text, 'the schemas of the application');
    return { now, classes, names: Object.keys(JSON.parse(text) as object) };
  } catch (error) {
    if (api.signal.aborted) throw new StartError('Interrupted. Nothing was copied.', { cause: error });
    if (!(error instanceof RequestError)) throw error;
    throw new StartError(`${error.message.replace(/\.?$/, '.')} Nothing was copied.`, { cause: error });
  }
}

interface Parts extends Pick<RescueContext, 'api' | 'folder' | 'progress' | 'concurrency'> {
  readonly now: string;
}

function contextOf({ now, ...parts }: Parts): RescueContext {
  const { manifest } = parts.folder;
  const last = manifest.runs.at(-1);
  const isContinued = last !== undefined && last.finishedAt === undefined;
  if (isContinued) parts.progress.say(`The run of ${last.startedAt} is continued.`);
  else manifest.runs.push({ startedAt: now });
  return { ...parts, manifest, problems: new Map(), startedAt: isContinued ? last.startedAt : now };
}

async function copyEverything(
  context: RescueContext,
  { names, classes }: Application,
  options: RescueOptions,
): Promise<Ending> {
  const exportOptions: ExportOptions = {
    since: options.since,
    pollS: options.exportPoll,
    waitMinutes: options.exportWait,
  };
  const limits = { maxBytes: options.maxFileMb * MIB, timeoutS: options.fileTimeout };
  const copyRows = async () => {
    await writeSchemas(context, classes);
    await scanClasses(context, names, options.since && `${options.since}T00:00:00.000Z`);
    await copyRelations(context, classes);
    await copyFiles(context, limits);
  };
  // LeanCloud makes the export meanwhile; a full disk stops both.
  const works = [copyExports(context, exportOptions), copyRows()].map((work) =>
    work.catch((error: unknown) => {
      if (!(error instanceof RequestError)) context.api.interrupt();
      throw error;
    }),
  );
  const results = await Promise.allSettled(works);
  const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
  const other = errors.find((error) => !(error instanceof RequestError) && (error as Error).name !== 'AbortError');
  if (other !== undefined) throw diskError(other);
  if (context.api.signal.aborted) return 'interrupted';
  const [refusal] = errors;
  return refusal instanceof RequestError ? { refused: refusal.message } : 'finished';
}

function diskError(error: unknown): unknown {
  const code = codeOf(error);
  return ['ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EIO'].includes(code)
    ? new StartError(`The folder cannot be written (${code}). Make room on the disk. ${RUN_AGAIN}`, { cause: error })
    : error;
}

async function writeSchemas({ folder }: RescueContext, classes: Schemas): Promise<void> {
  const names = Object.keys(classes);
  for (const name of names.filter(isPlainName)) {
    const content = JSON.stringify({ schema: classes[name] }, undefined, 1);
    await folder.write(`schema/${fileNameOf(name, names)}_schema.json`, `${content}\n`);
  }
}

async function finish(context: RescueContext, ending: Ending, { json }: RescueOptions): Promise<void> {
  const { manifest, folder, progress } = context;
  progress.phase('comparing the users of archives and scans');
  manifest.missing = await missingFrom(context, ending);
  manifest.notes = await notesOn(context);
  const status = manifest.missing.length > 0 ? PARTIAL : 0;
  markRun(manifest, ending, status);
  await folder.save();
  progress.stop();
  if (json === true) print(JSON.stringify(summaryOf(manifest)));
  else printSummary(manifest, folder.path);
  if (status !== 0) reportFailure(status);
}

/** An interrupted run stays open: the next one continues it. */
function markRun({ runs }: Manifest, ending: Ending, status?: number): void {
  const run = runs.at(-1);
  if (run === undefined || ending !== 'finished') return;
  run.finishedAt = new Date().toISOString();
  if (status !== undefined) run.status = status;
}

/** @throws StartError, without the content, also for a file that others can read: the master key opens all data of the application */
export function masterKeyIn(path: string): Secret {
  let descriptor = -1;
  try {
    descriptor = openSync(path, 'r');
    const { mode } = fstatSync(descriptor);
    if (process.platform !== 'win32' && (mode & OTHERS) !== 0)
      throw new StartError(
        `--master-key-file: other users of this machine may read ${path}. Run: chmod 600 ${quoted(path)}`,
      );
    const key = withoutLastBreak(readFileSync(descriptor, 'utf8')).replace(/,master$/, '');
    if (!KEY.test(key))
      throw new StartError(`--master-key-file: ${path} holds no key. Write the master key, and nothing else, into it.`);
    return new Secret(key);
  } catch (error) {
    if (error instanceof StartError) throw error;
    throw new StartError(`--master-key-file: ${path} cannot be read (${codeOf(error)}).`, { cause: error });
  } finally {
    if (descriptor !== -1) closeSync(descriptor);
  }
}

export function apiUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isLocal = url !== undefined && ['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname);
  if (url?.protocol === 'https:' || (isLocal && url.protocol === 'http:')) return url.origin;
  throw new InvalidArgumentError('Expected the API domain as an https URL, such as https://api.example.com.');
}

function appId(text: string): string {
  if (/^[\w-]{1,100}$/.test(text)) return text;
  throw new InvalidArgumentError('Expected an application id: letters, digits, - and _.');
}

function day(text: string): string {
  if (z.iso.date().safeParse(text).success) return text;
  throw new InvalidArgumentError('Expected a day of the calendar, such as 2026-09-20.');
}

function numberIn(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d{1,9}$/.test(text) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`Expected a whole number from ${least} to ${most}.`);
  };
}

export function networks(text: string): string[] {
  const found = text.split(',').map((network) => network.trim());
  if (found.every(isNetwork)) return found;
  throw new InvalidArgumentError('Expected addresses or networks such as 10.0.0.0/8, separated by commas.');
}

function isNetwork(text: string): boolean {
  const [address = '', bits = '0', ...rest] = text.split('/');
  const most = isIP(address) === 4 ? 32 : 128;
  const isAddress = isIP(address) !== 0 && rest.length === 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= most;
  return ['loopback', 'linklocal', 'uniquelocal'].includes(text) || isAddress;
}
