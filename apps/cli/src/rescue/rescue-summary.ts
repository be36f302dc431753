import { Readable } from 'node:stream';
import { quoted } from '#bootstrap';
import type { JsonObject, JsonValue } from '#contracts';
import { openExport } from '../export/open-export.js';
import { print } from '../terminal.js';
import { CONSOLE_EXPORT } from './export-archive.js';
import { coverageOf, type ExportState, type Manifest, type Missing, usersIn } from './manifest.schema.js';
import { type RescueContext, RUN_AGAIN } from './rescue-context.js';
import { rowsOf } from './rescue-folder.js';

/** Most lines of one kind on a terminal; the manifest has all. */
const SHOWN = 20;
const RULE = '='.repeat(72);

/** `refused`: LeanCloud refuses every further request. */
export type Ending = 'finished' | 'interrupted' | { readonly refused: string };

export async function missingFrom(context: RescueContext, ending: Ending): Promise<Missing[]> {
  const { manifest, problems, startedAt } = context;
  const problemList = [...problems].map(([what, problem]) => ({ what, ...problem }));
  return [...endingOf(ending), ...(await columnsMissing(context)), ...rowsMissing(manifest, startedAt), ...problemList];
}

function endingOf(ending: Ending): Missing[] {
  if (ending === 'finished') return [];
  if (ending === 'interrupted')
    return [{ what: 'the rest', reason: 'the command was interrupted', remedy: `${RUN_AGAIN} It continues.` }];
  return [{ what: 'the rest', reason: ending.refused, remedy: `Remove the reason. ${RUN_AGAIN} It continues.` }];
}

async function columnsMissing(context: RescueContext): Promise<Missing[]> {
  const { users, withoutPasswords, withoutSessions } = await coverageOfUsers(context);
  if (users === 0) return [];
  const remedy = `Take the console's export (${CONSOLE_EXPORT}), put its .tar.gz into export/ of this folder, and run the same command again.`;
  const found = [
    { what: 'PASSWORDS', count: withoutPasswords, columns: 'password and salt' },
    { what: 'SESSIONS', count: withoutSessions, columns: 'sessionToken' },
  ];
  return found
    .filter(({ count }) => count > 0)
    .map(({ what, count, columns }) => ({
      what,
      reason: `${count} of ${users} users are in no archive with ${columns}`,
      remedy,
    }));
}

interface Coverage {
  /** Distinct users of archives and scan, without those of the scan that registered after the last archive began. */
  readonly users: number;
  readonly withoutPasswords: number;
  readonly withoutSessions: number;
}

/** Bits of a user: in an archive or a scan; in an archive with passwords; with a session token. */
const [SEEN, PASSWORDS, SESSIONS] = [1, 2, 4];

/** LeanCloud exports the password column or omits it: one user with a password proves that archives of that kind have all passwords. */
async function coverageOfUsers({ manifest, folder }: RescueContext): Promise<Coverage> {
  const archives = manifest.exports.filter(({ path }) => path !== undefined);
  const withUsers = archives.filter((archive) => usersIn(archive).rows > 0);
  const hasPasswords = (archive: ExportState) => usersIn(archive).password > 0 && usersIn(archive).salt > 0;
  const kinds = new Set(withUsers.filter(hasPasswords).map(({ kind }) => kind));
  const found = new Map<string, number>();
  const note = (id: unknown, bits: number) => {
    if (typeof id === 'string') found.set(id, (found.get(id) ?? 0) | bits);
  };
  for (const { kind, path = '' } of withUsers)
    for await (const { objectId, sessionToken } of usersOf(folder.resolve(path)))
      note(objectId, SEEN | (kinds.has(kind) ? PASSWORDS : 0) | (hasText(sessionToken) ? SESSIONS : 0));
  const lastAt = archives
    .map(({ startedAt }) => startedAt)
    .sort()
    .at(-1);
  for await (const { objectId, createdAt } of scannedUsers({ manifest, folder }))
    if (lastAt === undefined || String(createdAt) <= lastAt) note(objectId, SEEN);
  const without = (bit: number) => [...found.values()].filter((bits) => (bits & bit) === 0).length;
  return { users: found.size, withoutPasswords: without(PASSWORDS), withoutSessions: without(SESSIONS) };
}

function hasText(value: JsonValue | undefined): boolean {
  return typeof value === 'string' && value !== '';
}

async function* usersOf(path: string): AsyncGenerator<JsonObject> {
  const archive = await openExport([path], Readable.from([]));
  try {
    const parts = archive.parts.filter(({ kind, className }) => kind === 'rows' && className === '_User');
    for await (const row of archive.rowsOf(parts, { inAnyOrder: true })) yield 'row' in row ? row.row : {};
  } finally {
    await archive.close();
  }
}

function scannedUsers({ manifest, folder }: Pick<RescueContext, 'manifest' | 'folder'>) {
  const scans = manifest.classes.find(({ name }) => name === '_User')?.scans ?? [];
  return rowsOf(scans.flatMap(({ files }) => files.map((name) => folder.resolve(name))));
}

/** Classes with fewer rows than LeanCloud counts, unless an archive has them. */
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
