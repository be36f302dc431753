import { print, quoted } from '../terminal.js';
import { CONSOLE_EXPORT } from './export-archive.js';
import { coverageOf, type Manifest, type Missing, usersIn } from './manifest.schema.js';
import { type RescueContext, RUN_AGAIN } from './rescue-context.js';
import { rowsOf } from './rescue-folder.js';

/** Lines of one kind that a terminal shows; the manifest has all. */
const SHOWN = 20;
const RULE = '='.repeat(72);

/** How a run ended: whole, by the operator, or because LeanCloud refuses everything from now on. */
export type Ending = 'finished' | 'interrupted' | { readonly refused: string };

/** Everything that the folder lacks, the worst first. */
export function missingFrom({ manifest, problems, startedAt }: RescueContext, ending: Ending): Missing[] {
  const problemList = [...problems].map(([what, problem]) => ({ what, ...problem }));
  return [...endingOf(ending), ...columnsMissing(manifest), ...rowsMissing(manifest, startedAt), ...problemList];
}

function endingOf(ending: Ending): Missing[] {
  if (ending === 'finished') return [];
  if (ending === 'interrupted')
    return [{ what: 'the rest', reason: 'the command was interrupted', remedy: `${RUN_AGAIN} It continues.` }];
  return [{ what: 'the rest', reason: ending.refused, remedy: `Remove the reason. ${RUN_AGAIN} It continues.` }];
}

/** Columns of `_User` that only exports have. */
function columnsMissing(manifest: Manifest): Missing[] {
  const archives = manifest.exports.filter(({ path, kind }) => path !== undefined && kind !== 'schema').map(usersIn);
  const sum = (column: keyof (typeof archives)[number]) => archives.reduce((total, users) => total + users[column], 0);
  const scanned = manifest.classes.find(({ name }) => name === '_User')?.rows ?? 0;
  const rows = sum('rows');
  if (rows === 0 && scanned === 0) return [];
  const remedy = `Take the console's export (${CONSOLE_EXPORT}), put its .tar.gz into export/ of this folder, and run the same command again.`;
  if (rows === 0)
    return [
      {
        what: 'PASSWORDS AND SESSIONS',
        reason: 'no archive has users; the scan has no password, salt, sessionToken',
        remedy,
      },
    ];
  const found: Missing[] = [];
  if (sum('password') === 0 || sum('salt') === 0)
    found.push({ what: 'PASSWORDS', reason: `none of ${rows} users in the archives has password and salt`, remedy });
  // Every user has a session token, and a full archive that has them makes up for one that does not.
  if (!archives.some((users) => users.rows > 0 && users.sessionToken >= users.rows))
    found.push({
      what: 'SESSIONS',
      reason: `only ${sum('sessionToken')} of ${rows} users have a sessionToken`,
      remedy,
    });
  return found;
}

/** Classes with fewer rows than LeanCloud counts, where no archive makes up for it. */
function rowsMissing(manifest: Manifest, startedAt: string): Missing[] {
  return manifest.classes
    .filter(({ scans }) => (scans.at(-1)?.finishedAt ?? '') !== '' && (scans.at(-1)?.startedAt ?? '') >= startedAt)
    .filter(
      ({ name, rows, serverRows }) =>
        (rows ?? 0) < (serverRows ?? 0) && archivedRows(manifest, name) < (serverRows ?? 0),
    )
    .map(({ name, rows, serverRows }) => ({
      what: `rows of ${name}`,
      reason: `${rows ?? 0} of ${serverRows ?? 0} were found`,
      remedy: RUN_AGAIN,
    }));
}

function archivedRows({ exports }: Manifest, name: string): number {
  return Math.max(0, ...exports.map(({ classes = [] }) => classes.find((each) => each.class === name)?.rows ?? 0));
}

/** Remarks for the operator about a complete archive. */
export async function notesOn(context: RescueContext): Promise<string[]> {
  const { classes } = context.manifest;
  const surplus = classes
    .filter(({ rows, serverRows }) => rows !== null && serverRows !== null && rows > serverRows)
    .map(
      ({ name, rows, serverRows }) =>
        `${name}: ${(rows ?? 0) - (serverRows ?? 0)} rows are gone at LeanCloud; the folder keeps them.`,
    );
  const late = await lateUsers(context);
  if (late === 0) return surplus;
  return [...surplus, `${late} users registered after the export began: no archive has their passwords. ${RUN_AGAIN}`];
}

/** Users of the last scan that are younger than the last archive. */
async function lateUsers({ manifest, folder }: RescueContext): Promise<number> {
  const last = manifest.exports.filter(({ kind, path }) => kind === 'data' && path !== undefined).at(-1);
  const files = manifest.classes.find(({ name }) => name === '_User')?.scans.at(-1)?.files ?? [];
  if (last === undefined) return 0;
  let late = 0;
  for await (const { createdAt } of rowsOf(files.map((name) => folder.resolve(name))))
    if (typeof createdAt === 'string' && createdAt > last.startedAt) late += 1;
  return late;
}

/** The output of `--json`: the manifest without the state of its parts. */
export function summaryOf(manifest: Manifest): object {
  const { application, classes, relations, files, exports, missing, notes } = manifest;
  return {
    application,
    isComplete: missing.length === 0,
    classes: classes.map(({ name, rows, serverRows }) => ({ name, rows, serverRows })),
    relations: relations.map(({ class: name, field, owners, members }) => ({ class: name, field, owners, members })),
    files,
    archives: exports.map(({ kind, path = null, bytes = null, fromDate }) => ({ kind, path, bytes, fromDate })),
    users: exports.map(usersIn).toSorted((one, other) => other.rows - one.rows)[0] ?? null,
    missing,
    notes,
  };
}

/** The summary for an operator. */
export function printSummary(manifest: Manifest, path: string): void {
  const { classes, relations, files, exports, missing, notes } = manifest;
  const width = Math.max(12, ...classes.map(({ name }) => name.length));
  print(`${'class'.padEnd(width)}  ${'copied'.padStart(10)}  ${'LeanCloud'.padStart(10)}`);
  for (const state of classes)
    print(`${state.name.padEnd(width)}  ${cell(state.rows)}  ${cell(state.serverRows)}${limitOf(state)}`);
  for (const { class: name, field, members, owners } of relations)
    print(`relation ${quoted(`${name}.${field}`)}: ${members} members of ${owners} rows`);
  print(`files: ${files.count} with content, ${files.bytes} bytes`);
  for (const archive of exports.filter((each) => each.path !== undefined)) {
    const { rows, password, sessionToken } = usersIn(archive);
    const users = rows === 0 ? '' : `, ${rows} users: ${password} with password, ${sessionToken} with session`;
    print(`${archive.path ?? ''}: ${archive.bytes ?? 0} bytes${users}`);
  }
  for (const note of notes) print(`Note: ${note}`);
  if (missing.length === 0) print(`Everything is in ${path}. It holds password hashes and sessions: keep it private.`);
  else printMissing(missing, path);
}

function limitOf(state: Manifest['classes'][number]): string {
  const since = coverageOf(state);
  return since === null ? '' : `  (changed since ${since})`;
}

function cell(value: number | null): string {
  return (value === null ? '?' : String(value)).padStart(10);
}

function printMissing(missing: readonly Missing[], path: string): void {
  print(RULE);
  print(`MISSING: ${missing.length}`);
  for (const { what, reason, remedy } of missing.slice(0, SHOWN)) print(`- ${what}: ${reason}.\n  ${remedy}`);
  if (missing.length > SHOWN) print(`- and ${missing.length - SHOWN} more, in ${path}/manifest.json`);
  print(RULE);
}
