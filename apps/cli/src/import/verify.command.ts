import { Command } from 'commander';
import { z } from 'zod';
import { StartError } from '#bootstrap';
import { type ClassName, type ImportNote, type ImportVerdict, TAKEN } from '#contracts';
import type { RpcClient } from '#messaging';
import { parseImportedRow } from '#objects';
import type { Export, ExportRow } from '../export/export.types.js';
import { openSource } from '../export/open-export.js';
import type { WithServer } from '../operator-connection.js';
import { LeanCloudApi, parsed } from '../rescue/leancloud-api.js';
import { apiUrl, masterKeyIn, networks } from '../rescue/rescue.command.js';
import { print, printAside, reportFailure } from '../terminal.js';
import { ClaimTable, ExportedObjects } from './claim-index.js';
import { memberRows } from './import-permissions.js';
import { assertApplication } from './import-requests.js';
import { ImportRun, rowsOf } from './import-run.js';
import { ImportSummary, type RowPlace } from './import-summary.js';
import { checkPassword } from './password-check.js';
import { isTaken } from './waiting-rows.js';

interface Options {
  readonly app: string;
  readonly check?: string;
  readonly passwordStdin?: true;
  readonly url?: string;
  readonly id?: string;
  readonly masterKeyFile?: string;
  readonly allowInternal: string[];
  readonly json?: true;
}

interface VerifiedClass {
  /** That could be read; several rows of one object count once. */
  objects: number;
  unreadable: number;
  here: number;
  /** Objects here that lack a value because another one has it. */
  incomplete: number;
  nameTaken: number;
  notHere: readonly string[];
  withTakenName: readonly string[];
  lacking: readonly string[];
  readonly withPassword: number;
  readonly withSessionToken: number;
  readonly withIdentity: number;
  original?: number;
}

interface VerifiedMembers {
  readonly rows: number;
  readonly here: number;
}

const counted = z.object({ count: z.number().int().nonnegative() });
const MAX_EXAMPLES = 5;
const API_TIMEOUT_MS = 60_000;
const CLASSES: readonly ClassName[] = ['_User', '_Role', '_Installation'];

export function verifyCommand(withServer: WithServer): Command {
  return new Command('verify')
    .description('compare an export with the application here and, with --url, with the real service; writes nothing')
    .usage('<path...> --app <app-id>')
    .argument('<path...>', 'the export')
    .requiredOption('--app <app-id>', 'the application')
    .option('--url <url>', "LeanCloud's API domain of the application, to compare its counts", apiUrl)
    .option('--id <id>', 'its id there; that of --app by default')
    .option('--master-key-file <file>', 'a file with its master key, readable by you alone')
    .option('--allow-internal <networks>', 'internal addresses that may be reached, separated by commas', networks, [])
    .option('--check <user>', 'ask for the password of this user, and compare it with the export')
    .option('--password-stdin', 'with --check: read the password from standard input')
    .option('--json', 'print the result as JSON, and nothing else')
    .addHelpText(
      'after',
      '\nStatus: 0: everything of the export is here; 2: something is missing; 1: nothing was compared.',
    )
    .action(async (paths: string[], options: Options) => {
      const source = await openSource(paths);
      try {
        if (options.check === undefined) await withServer((rpc) => verify(rpc, source, options));
        else await checkPassword(source, options.check, options.passwordStdin === true);
      } finally {
        await source.close();
      }
    });
}

async function verify(rpc: RpcClient, source: Export, options: Options): Promise<void> {
  await assertApplication(rpc, options.app);
  const classes = new Map<ClassName, VerifiedClass>();
  for (const className of CLASSES) {
    const verified = await sharesOf(source, className);
    // The real service may have a class that the export lacks.
    if (verified.objects + verified.unreadable === 0 && options.url === undefined) continue;
    const { notHere, nameTaken, incomplete } = await missing(rpc, source, className, options.app);
    verified.here = verified.objects - notHere.count;
    [verified.nameTaken, verified.incomplete] = [nameTaken.count, incomplete.count];
    [verified.notHere, verified.lacking] = [notHere.examples, incomplete.examples];
    verified.withTakenName = nameTaken.examples;
    classes.set(className, verified);
  }
  if ([...classes.values()].every(({ objects, unreadable }) => objects + unreadable === 0))
    throw new StartError('The export has no users, roles or installations.');
  await compareWithOriginal(classes, options);
  const members = await verifiedMembers(rpc, source, options.app);
  printResult(source, classes, members, options);
  const isWhole = !source.isDamaged && !source.isIncomplete;
  if (!isWhole || members.here < members.rows || [...classes.values()].some(isMissing)) reportFailure(2);
}

function printResult(
  { warnings, isDamaged, isIncomplete }: Export,
  classes: ReadonlyMap<ClassName, VerifiedClass>,
  members: VerifiedMembers,
  { json }: Options,
): void {
  if (json === true) {
    const counts = { classes: Object.fromEntries(classes), members };
    print(JSON.stringify({ ...counts, isDamaged, isIncomplete, warnings }));
    return;
  }
  for (const [className, verified] of classes) printClass(className, verified);
  if (members.rows > 0) print(`members of roles: ${members.rows} in the export, ${members.here} here`);
  for (const warning of warnings) print(`! ${warning}`);
}

async function sharesOf(source: Export, className: ClassName): Promise<VerifiedClass> {
  const parts = new ExportedObjects();
  let unreadable = 0;
  for await (const exported of rowsOf(source, (part) => part.kind === 'rows' && part.className === className)) {
    const row = 'problem' in exported ? exported : parseImportedRow(className, exported.row);
    if ('object' in row) parts.add(row.object);
    else unreadable += 1;
  }
  const { objects, password: withPassword, sessionToken: withSessionToken, identities } = parts.counts;
  const found = { here: 0, incomplete: 0, nameTaken: 0, notHere: [], withTakenName: [], lacking: [] };
  return { objects, unreadable, ...found, withPassword, withSessionToken, withIdentity: identities };
}

/** Counts each id once: the export can have several versions of an object. */
class CountedIds {
  count = 0;
  readonly examples: string[] = [];
  readonly #ids = new ClaimTable();

  add(objectId: string): void {
    if (!this.#ids.add(objectId)) return;
    this.count += 1;
    if (this.count <= MAX_EXAMPLES) this.examples.push(objectId);
  }
}

class MissingObjects extends ImportSummary {
  readonly notHere = new CountedIds();
  readonly nameTaken = new CountedIds();
  readonly incomplete = new CountedIds();

  constructor() {
    super(undefined);
  }

  override add({ objectId = '' }: RowPlace, verdict: ImportVerdict): Promise<void> {
    const isHere = verdict.outcome === 'unchanged' || verdict.outcome === 'kept_newer';
    if (!isHere) this.notHere.add(objectId);
    else if (isTaken(verdict)) this.incomplete.add(objectId);
    if (verdict.outcome === 'refused' && verdict.notes.some(isTakenName)) this.nameTaken.add(objectId);
    return Promise.resolve();
  }
}

function isTakenName({ field, reason }: ImportNote): boolean {
  return reason === TAKEN && (field === 'username' || field === 'name');
}

async function missing(rpc: RpcClient, source: Export, className: ClassName, appId: string): Promise<MissingObjects> {
  const objects = new MissingObjects();
  const run = new ImportRun(rpc, { appId, isPreview: true, wrapPasswords: false }, objects);
  const rows = readable(
    className,
    rowsOf(source, (part) => part.kind === 'rows' && part.className === className),
  );
  await run.importObjects(className, rows);
  return objects;
}

class CountedMembers extends ImportSummary {
  rows = 0;
  here = 0;

  constructor() {
    super(undefined);
  }

  override add(_: RowPlace, { outcome }: ImportVerdict): Promise<void> {
    this.rows += 1;
    if (outcome === 'unchanged') this.here += 1;
    return Promise.resolve();
  }
}

async function verifiedMembers(rpc: RpcClient, source: Export, appId: string): Promise<VerifiedMembers> {
  const members = new CountedMembers();
  const run = new ImportRun(rpc, { appId, isPreview: true, wrapPasswords: false }, members);
  for (const field of ['users', 'roles'] as const) {
    const rows = rowsOf(source, ({ kind, relation }) => kind === 'relation' && relation?.field === field);
    await run.importMembers(field, memberRows(rows, members));
  }
  const { rows, here } = members;
  return { rows, here };
}

async function* readable(className: ClassName, rows: AsyncIterable<ExportRow>): AsyncIterable<ExportRow> {
  for await (const row of rows) if ('row' in row && 'object' in parseImportedRow(className, row.row)) yield row;
}

async function compareWithOriginal(classes: ReadonlyMap<ClassName, VerifiedClass>, options: Options): Promise<void> {
  const { url, masterKeyFile, allowInternal } = options;
  if (url === undefined && masterKeyFile === undefined) return;
  if (url === undefined || masterKeyFile === undefined)
    throw new StartError('Name both --url and --master-key-file, or neither.');
  const api = new LeanCloudApi({
    baseUrl: url,
    appId: options.id ?? options.app,
    masterKey: masterKeyIn(masterKeyFile),
    internalNetworks: allowInternal,
    concurrency: 1,
    timeoutMs: API_TIMEOUT_MS,
    interruption: new AbortController(),
    onWait: (line) => {
      printAside(`${line}\n`);
    },
  });
  try {
    for (const [className, verified] of classes) {
      const text = await api.get(`classes/${className}`, { count: '1', limit: '0' });
      verified.original = parsed(counted, text, `the count of ${className}`).count;
    }
  } finally {
    await api.close();
  }
}

function isMissing({ objects, unreadable, here, incomplete, original }: VerifiedClass): boolean {
  return unreadable + incomplete > 0 || here < objects || (original !== undefined && objects < original);
}

function printClass(className: ClassName, verified: VerifiedClass): void {
  const { objects, unreadable, here, incomplete, nameTaken, original } = verified;
  print(
    `${className}: ${objects} in the export, ${here} here${unreadable > 0 ? `, ${unreadable} cannot be read` : ''}`,
  );
  if (here < objects)
    print(
      `  missing, or older than in the export: ${some(verified.notHere, objects - here)}. Import again: --report names the reasons.`,
    );
  if (nameTaken > 0)
    print(
      `  of these, refused because another object here has the name: ${some(verified.withTakenName, nameTaken)}. First change one of the two names: in LeanCloud if both objects are in the export (they may have exchanged names), then export again; else here.`,
    );
  if (incomplete > 0) print(`  without a value that another object has: ${some(verified.lacking, incomplete)}`);
  if (original !== undefined) print(`  ${original} at the real service`);
  if (original !== undefined && objects < original)
    print('  the export has fewer rows than the real service: pass all exports together, or export again');
  if (className !== '_User') return;
  print(`  with a password        ${share(verified.withPassword, objects)} in the export`);
  print(`  with a session token   ${share(verified.withSessionToken, objects)} in the export`);
  print(`  with a linked account  ${share(verified.withIdentity, objects)} in the export`);
}

function some(examples: readonly string[], count: number): string {
  return `${examples.join(', ')}${count > examples.length ? ', …' : ''}`;
}

function share(part: number, whole: number): string {
  return `${part} (${whole === 0 ? 0 : Math.round((part / whole) * 1000) / 10} %)`;
}
