import { Command } from 'commander';
import type { ClassName } from '#contracts';
import type { RpcClient } from '#messaging';
import type { AuditedRpcClient } from '../audited-calls.js';
import type { Export, ExportPart } from '../export/export.types.js';
import { openSource } from '../export/open-export.js';
import type { WithServer } from '../operator-connection.js';
import { onInterruption, print, printAside, ProgressLine, reportFailure, spanOf } from '../terminal.js';
import { assertRoleMembers, importPermissions, memberRows, readRoleMembers } from './import-permissions.js';
import { assertApplication } from './import-requests.js';
import { ImportRun, rowsOf } from './import-run.js';
import { type ClassCounts, ImportSummary } from './import-summary.js';
import { checkPassword } from './password-check.js';
import { verifyCommand } from './verify.command.js';

interface Options {
  readonly app: string;
  readonly apply?: true;
  readonly json?: true;
  readonly report?: string;
  readonly roleMembers?: string;
  readonly wrapPasswords?: true;
  readonly check?: string;
  readonly passwordStdin?: true;
}

/** In this order: roles name users, and the members of roles name both. */
const CLASSES: readonly ClassName[] = ['_User', '_Role', '_Installation'];
/** Those of `_Role` have a kind of their own. */
const RELATION_FILE = /(?:^|\/)_Join[^/]*$/;
const HELP = `
Without --apply it is a preview: it reads everything, compares it with the database, prints the summary, and writes nothing.
Run it again at any time: objects are recognised by their objectId, and the newer updatedAt counts. With the same updatedAt it adds
passwords, session tokens, addresses, numbers and linked accounts that are missing.

PATH is a file, a folder of any depth, a .tar.gz, .tar, .zip or .gz archive, or - for standard input.
Classes other than _User, _Role and _Installation are counted, not imported. Guide: docs/leaving-leancloud.md

Status: 0: every row is in; 2: some rows are refused or incomplete, the export is damaged, files of it were not read, or the
import was interrupted; 1: nothing was done.`;

export function importCommand(withServer: WithServer): Command {
  return (
    new Command('import')
      .description("import the users, roles and devices of LeanCloud's export, with passwords and sessions")
      .usage('[options] <path...> --app <app-id>')
      .argument('<path...>', 'the export')
      .option('--app <app-id>', 'the application')
      // The options after "verify" are its own.
      .enablePositionalOptions()
      .option('--apply', 'write (a preview by default)')
      .option('--report <file>', 'write one JSON line for each row that does not simply go in')
      .option('--role-members <csv>', 'members of roles that the export lacks, as lines ROLE,USERNAME-OR-ID')
      .option('--wrap-passwords', 'hash the old password hashes with bcrypt at once: 60 ms for each user')
      .option(
        '--check <user>',
        'ask for the password of this username, e-mail address or number, and compare it with the export',
      )
      .option('--password-stdin', 'with --check: read the password from standard input')
      .option('--json', 'print the summary as JSON, and nothing else')
      .addHelpText('after', HELP)
      .action(async (paths: string[], options: Options, command: Command) => {
        // A required option would also be required of "verify".
        if ((options.app as string | undefined) === undefined) command.error('error: name the application with --app');
        const source = await openSource(paths);
        try {
          if (options.check === undefined) await withServer((rpc) => recordImport(rpc, source, paths, options));
          else await checkPassword(source, options.check, options.passwordStdin === true);
        } finally {
          await source.close();
        }
      })
      .addCommand(verifyCommand(withServer))
  );
}

async function recordImport(rpc: AuditedRpcClient, source: Export, paths: string[], options: Options): Promise<void> {
  await assertApplication(rpc, options.app);
  // An invalid line would otherwise end the import halfway.
  if (options.roleMembers !== undefined) await assertRoleMembers(options.roleMembers);
  const work = () => runImport(rpc, source, options);
  const entry = { action: 'importObjects', appId: options.app, change: { files: paths } };
  // A preview is not audited: it changes nothing.
  if (options.apply === true) await rpc.record(entry, work, (isWhole) => isWhole);
  else await work();
}

async function runImport(rpc: RpcClient, source: Export, options: Options): Promise<boolean> {
  const summary = new ImportSummary(options.report);
  await summary.open();
  const run = new ImportRun(
    rpc,
    { appId: options.app, isPreview: options.apply !== true, wrapPasswords: options.wrapPasswords === true },
    summary,
  );
  const progress = options.json === true ? undefined : new ProgressLine((seconds) => stateOf(source, summary, seconds));
  const stopListening = onInterruption(['SIGINT'], () => {
    run.stop();
    printAside('\nEnding after this batch …\n');
  });
  let failure: unknown;
  try {
    for (const warning of source.warnings) summary.warn(warning);
    if (source.isDamaged) summary.warn('The export is damaged: what cannot be read stays behind. Download it again.');
    const changes = await importPermissions(rpc, source, { ...options, isPreview: options.apply !== true }, summary);
    await importAll(run, source, options, summary);
    progress?.stop();
    summary.conclude();
    printSummary(summary, options, { permissions: changes, isStopped: run.isStopped });
    await summary.close();
    return !run.isStopped;
  } catch (error) {
    failure = error;
    throw error;
  } finally {
    progress?.stop();
    stopListening();
    // An error of the import takes precedence over one of the report.
    await summary.close().catch(() => undefined);
    reportEnd(run, summary, failure, { ...options, isWhole: !source.isDamaged && !source.isIncomplete });
  }
}

async function importAll(run: ImportRun, source: Export, options: Options, summary: ImportSummary): Promise<void> {
  for (const className of CLASSES) {
    if (run.isStopped) return;
    await run.importObjects(
      className,
      rowsOf(source, (part) => part.kind === 'rows' && part.className === className),
    );
    if (className === '_Role') await importMembers(run, source, options, summary);
  }
  await countOthers(run, source, summary);
}

async function importMembers(
  run: ImportRun,
  source: Export,
  { roleMembers }: Options,
  summary: ImportSummary,
): Promise<void> {
  const relations = source.parts.filter(({ kind, relation }) => kind === 'relation' && relation !== undefined);
  for (const field of ['users', 'roles'] as const) {
    const parts = relations.filter(({ relation }) => relation?.field === field);
    for (const { file, form } of parts) summary.warn(`Members of roles (${field}) come from ${file} (${form}).`);
    await run.importMembers(
      field,
      memberRows(
        rowsOf(source, (part) => parts.includes(part)),
        summary,
      ),
    );
  }
  if (roleMembers !== undefined) await run.importMembers('users', readRoleMembers(roleMembers));
  const { objects: roles } = summary.exported._Role.counts;
  const hasUsers = roleMembers !== undefined || relations.some(({ relation }) => relation?.field === 'users');
  if (!hasUsers && roles > 0)
    summary.warn(
      `${roles} roles have no members: the export has no file of their users. Use "gatepost rescue", or --role-members.`,
    );
}

async function countOthers(run: ImportRun, source: Export, summary: ImportSummary): Promise<void> {
  const counts = new Map<string, number>();
  const isOther = ({ kind, className }: ExportPart) => kind === 'rows' && !CLASSES.includes(className as ClassName);
  for await (const { className } of source.rowsOf(source.parts.filter(isOther), { inAnyOrder: true })) {
    if (run.isStopped) return;
    counts.set(className, (counts.get(className) ?? 0) + 1);
  }
  for (const [className, count] of counts) summary.warn(`${className}: ${count} rows are not imported.`);
  for (const { file } of source.parts.filter(({ kind, file: path }) => kind === 'other' && RELATION_FILE.test(path)))
    summary.warn(`${file}: the members of this relation are not imported.`);
}

function printSummary(
  summary: ImportSummary,
  { apply, json }: Options,
  { permissions, isStopped }: { readonly permissions: readonly string[]; readonly isStopped: boolean },
): void {
  const { seconds, warnings } = summary;
  const classes = Object.fromEntries(summary.classes);
  if (json === true) {
    print(JSON.stringify({ applied: apply === true, seconds, classes, permissions, warnings }));
    return;
  }
  printTable(summary.classes);
  for (const change of permissions) print(`permission ${change}`);
  for (const warning of warnings) print(`! ${warning}`);
  const done = isStopped ? 'Stopped after' : 'Imported in';
  print(apply === true ? `${done} ${seconds} s.` : `Nothing was written (${seconds} s). Write with --apply.`);
}

function stateOf({ bytesRead, bytesTotal }: Export, summary: ImportSummary, seconds: number): string {
  const rows = [...summary.classes.values()].reduce((sum, { read }) => sum + read, 0);
  const share = bytesTotal === 0 ? 0 : Math.min(1, bytesRead / bytesTotal);
  const left = share === 0 ? '' : `, ${spanOf((seconds * (1 - share)) / share)} left`;
  return `${rows} rows, ${Math.round(rows / Math.max(seconds, 1))} a second, ${Math.round(share * 100)} %${left}`;
}

const COLUMNS: readonly [keyof ClassCounts, string][] = [
  ['read', 'read'],
  ['imported', 'imported'],
  ['importedWithout', 'incomplete'],
  ['unchanged', 'unchanged'],
  ['keptNewer', 'newer here'],
  ['refused', 'refused'],
];
const NAME_WIDTH = 28;
const COUNT_WIDTH = 12;

function printTable(classes: ReadonlyMap<string, ClassCounts>): void {
  print(''.padEnd(NAME_WIDTH) + COLUMNS.map(([, title]) => title.padStart(COUNT_WIDTH)).join(''));
  for (const [className, counts] of classes)
    print(className.padEnd(NAME_WIDTH) + COLUMNS.map(([name]) => String(counts[name]).padStart(COUNT_WIDTH)).join(''));
}

function reportEnd(
  run: ImportRun,
  summary: ImportSummary,
  failure: unknown,
  { apply, isWhole }: Options & { readonly isWhole: boolean },
): void {
  const hasWritten = apply === true && summary.hasImported;
  if (run.isStopped || failure !== undefined) {
    if (hasWritten) printAside('Run the same command again to go on: rows that are in stay unchanged.\n');
    reportFailure(hasWritten ? 2 : 1);
  } else if (summary.isIncomplete || !isWhole) reportFailure(2);
}
