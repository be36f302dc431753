import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { quoted, StartError } from '#bootstrap';
import {
  type Application,
  applicationsRpc,
  CLASS_NAMES,
  CLASS_OPERATIONS,
  type ClassName,
  type ClassOperation,
  type ClassPermission,
  classPermissions,
  isUserOrRole,
  type JsonObject,
  type JsonValue,
  MAX_GRANTEES,
} from '#contracts';
import type { RpcClient } from '#messaging';
import { isJsonObject, isStorableText } from '#objects';
import { permissionText } from '../commands/apps.command.js';
import type { Export, ExportPart, ExportRow } from '../export/export.types.js';
import { type MemberRow, rowsOf } from './import-run.js';
import type { ImportSummary } from './import-summary.js';

const MAX_SHOWN_LENGTH = 64;

interface PermissionOptions {
  readonly app: string;
  readonly isPreview: boolean;
}

interface PermissionChange {
  readonly className: ClassName;
  readonly operation: ClassOperation;
  readonly permission: ClassPermission;
}

/** A permission that differs from the default is kept: an operator can have changed it. @returns the changes, as text */
export async function importPermissions(
  rpc: RpcClient,
  source: Export,
  { app, isPreview }: PermissionOptions,
  summary: ImportSummary,
): Promise<string[]> {
  const changes = await permissionsIn(source, summary);
  if (changes.length === 0) return [];
  const { application } = await rpc.call(applicationsRpc.get, { id: app });
  const made: string[] = [];
  for (const { className, operation, permission } of changes) {
    const current = application.classPermissions[className][operation];
    if (isSame(current, permission)) continue;
    if (!isDefault(application, className, operation)) {
      const command = `gatepost permissions set ${app} ${className} ${operation} ${permissionText(permission)}`;
      summary.warn(
        `The permission ${className}.${operation} stays "${permissionText(current)}", which is not the default here; LeanCloud has "${permissionText(permission)}". To take it over: ${command}`,
      );
      continue;
    }
    made.push(`${className}.${operation}: ${permissionText(current)} → ${permissionText(permission)}`);
    if (!isPreview)
      await rpc.call(applicationsRpc.changePermission, { id: app, className, operations: [operation], permission });
  }
  return made;
}

const ABOUT_CLASS: ReadonlySet<string> = new Set(['permissions', 'schema', 'indexes'] satisfies ExportPart['kind'][]);

async function permissionsIn(source: Export, summary: ImportSummary): Promise<PermissionChange[]> {
  const changes = new Map<string, PermissionChange>();
  for await (const row of rowsOf(source, ({ kind }) => ABOUT_CLASS.has(kind))) {
    const className = CLASS_NAMES.find((name) => name === row.className);
    const problem = problemOf(row);
    if (problem !== undefined) summary.warn(`${row.file}: ${problem}`);
    summary.hasUnreadSettings ||= problem !== undefined && className !== undefined;
    if ('problem' in row || className === undefined) continue;
    for (const change of changesOf(className, row.row, summary))
      changes.set(`${change.className}.${change.operation}`, change);
    for (const warning of lostSettings(className, row.row)) summary.warn(warning);
  }
  return [...changes.values()];
}

function problemOf(row: ExportRow): string | undefined {
  if ('problem' in row) return row.problem;
  const { permissions = null } = row.row;
  const isRead = permissions === null || isJsonObject(permissions);
  return isRead ? undefined : '"permissions" is not an object, so they stay as they are here. Export the schema again.';
}

function changesOf(className: ClassName, row: JsonObject, summary: ImportSummary): PermissionChange[] {
  const permissions = row['permissions'];
  if (!isJsonObject(permissions)) return [];
  return CLASS_OPERATIONS.flatMap((operation) => {
    const value = permissions[operation];
    if (value === undefined) return [];
    const { permission, leftOut } = permissionOf(value);
    if (leftOut.length > 0)
      summary.warn(
        `The permission ${className}.${operation} leaves out ${leftOut.length} users and roles: ${shownList(leftOut)}. ${LIMITS}`,
      );
    return [{ className, operation, permission }];
  });
}

const MAX_SHOWN = 5;
const LIMITS = `A permission lists at most ${MAX_GRANTEES} user ids and names of roles of letters, digits and _: use a role.`;

function shownList(values: readonly JsonValue[]): string {
  const shown = values.slice(0, MAX_SHOWN).map(shownName).join(', ');
  return values.length > MAX_SHOWN ? `${shown}, …` : shown;
}

/** The text is hostile. */
function shownName(value: JsonValue): string {
  return quoted((typeof value === 'string' ? value : JSON.stringify(value)).slice(0, MAX_SHOWN_LENGTH));
}

/** Built-in columns that clients never see or write, or that LeanCloud itself makes unique, as does Gatepost. */
const BUILT_IN: ReadonlySet<string> = new Set([
  ...['objectId', '_id', 'createdAt', 'updatedAt', 'ACL', 'salt', 'password', 'sessionToken', 'authData'],
]);
const UNIQUE_HERE: Readonly<Record<ClassName, RegExp>> = {
  _User: /^(?:username|email|mobilePhoneNumber|sessionToken|_id|authData\..+)$/,
  _Role: /^(?:name|_id)$/,
  _Installation: /^(?:installationId|deviceToken|subscriptionUri|_id)$/,
};

/** Warnings about settings of a class that restrict clients in LeanCloud and have no counterpart here. */
function lostSettings(className: ClassName, { schema, indexes, permissions }: JsonObject): string[] {
  const columns = isJsonObject(schema) ? Object.entries(schema) : [];
  const rules = Array.isArray(indexes) ? indexes : [];
  const adding = isJsonObject(permissions) ? permissions['add_fields'] : undefined;
  return [
    ...columns.flatMap(([name, attributes]) =>
      isJsonObject(attributes) ? lostOfColumn(className, name, attributes) : [],
    ),
    ...rules.flatMap((index) => lostOfIndex(className, index)),
    ...(adding === undefined || (isJsonObject(adding) && adding['*'] === true)
      ? []
      : [
          `Not every client may add columns to ${className} in LeanCloud; here every client that may write an object may.`,
        ]),
  ];
}

function lostOfColumn(className: ClassName, name: string, attributes: JsonObject): string[] {
  if (name === 'ACL') return lostDefaultAcl(className, attributes['default']);
  if (BUILT_IN.has(name)) return [];
  const column = `${className}.${shownColumn(name)}`;
  const isHidden = attributes['hidden'] === true || attributes['user_private'] === true;
  return [
    ...(isHidden
      ? [
          `${column} is hidden from clients in LeanCloud; here every client that may get the object reads it. Close ${className}.get and find, or move the column elsewhere.`,
        ]
      : []),
    ...(attributes['read_only'] === true
      ? [
          `${column} is read-only for clients in LeanCloud; here every client that may update the object writes it. Close ${className}.update, or move the column elsewhere.`,
        ]
      : []),
  ];
}

function lostDefaultAcl(className: ClassName, acl: JsonValue | undefined): string[] {
  const everyone = isJsonObject(acl) ? acl['*'] : undefined;
  const isOpen = isJsonObject(everyone) && everyone['read'] === true && everyone['write'] === true;
  if (!isJsonObject(acl) || isOpen) return [];
  return [`New objects of ${className} get a default ACL in LeanCloud; here they have none. Set the ACL in the app.`];
}

function lostOfIndex(className: ClassName, index: JsonValue): string[] {
  if (!isJsonObject(index) || index['unique'] !== true || !isJsonObject(index['key'])) return [];
  const columns = Object.keys(index['key']);
  if (columns.every((name) => UNIQUE_HERE[className].test(name))) return [];
  const named = columns.map(shownColumn).join(', ');
  return [`${className}.${named} is unique in LeanCloud; here several objects can have the same value.`];
}

function shownColumn(name: string): string {
  return name.slice(0, MAX_SHOWN_LENGTH).replaceAll(/\p{C}/gu, '?');
}

/** `{"*":true}`, `{"onlySignInUsers":true}`, or users and roles. An unreadable permission closes the operation, which would otherwise be open to all. */
function permissionOf(value: JsonValue): {
  readonly permission: ClassPermission;
  readonly leftOut: readonly JsonValue[];
} {
  if (!isJsonObject(value)) return { permission: [], leftOut: [value] };
  if (value['*'] === true) return { permission: 'everyone', leftOut: [] };
  if (value['onlySignInUsers'] === true) return { permission: 'users', leftOut: [] };
  const listed = [
    ...listOf(value['users']),
    ...listOf(value['roles']).map((name) => (typeof name === 'string' ? `role:${name}` : name)),
  ];
  const permission = listed.filter((each) => typeof each === 'string' && isUserOrRole(each)).slice(0, MAX_GRANTEES);
  const kept = new Set<JsonValue>(permission);
  return { permission: permission as string[], leftOut: listed.filter((each) => !kept.has(each)) };
}

function listOf(value: JsonValue | undefined): JsonValue[] {
  if (Array.isArray(value)) return value;
  return value === undefined || value === null || value === '' ? [] : [value];
}

function isDefault(
  { classPermissions: current }: Application,
  className: ClassName,
  operation: ClassOperation,
): boolean {
  return isSame(current[className][operation], classPermissions.parse({})[className][operation]);
}

function isSame(one: ClassPermission, other: ClassPermission): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

const LISTED = '_Role members';
const MAX_NAME_LENGTH = 255;

export async function* memberRows(rows: AsyncIterable<ExportRow>, summary: ImportSummary): AsyncIterable<MemberRow> {
  for await (const row of rows) {
    const place = { file: row.file, line: row.line, className: row.className };
    const { owningId, relatedId }: JsonObject = 'row' in row ? row.row : {};
    if (isName(owningId) && isName(relatedId)) yield { place, role: owningId, member: relatedId };
    else if ('problem' in row) await summary.refuse(place, { field: '', reason: row.problem });
    else
      await summary.refuse(place, {
        field: 'owningId',
        reason: 'or relatedId is missing, too long, or has a NUL or half a surrogate pair',
      });
  }
}

function isName(value: JsonValue | undefined): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_NAME_LENGTH && isStorableText(value);
}

/** The lines of `--role-members`: ROLE,USERNAME-OR-ID. @throws StartError where the file cannot be read or a line has another form */
export async function* readRoleMembers(file: string): AsyncIterable<MemberRow> {
  let line = 0;
  for await (const text of linesOf(file)) {
    line += 1;
    const named = text.replace(/^\uFEFF/, '').trim();
    if (named !== '') yield { place: { file, line, className: LISTED }, ...memberOf(named, `${file}, line ${line}`) };
  }
}

export async function assertRoleMembers(file: string): Promise<void> {
  const rows = readRoleMembers(file)[Symbol.asyncIterator]();
  while ((await rows.next()).done !== true);
}

async function* linesOf(file: string): AsyncIterable<string> {
  try {
    yield* createInterface({ input: createReadStream(file, 'utf8'), crlfDelay: Infinity });
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    throw new StartError(`${file} cannot be read (${code}).`, { cause: error });
  }
}

function memberOf(text: string, place: string): Pick<MemberRow, 'role' | 'member'> {
  const comma = text.indexOf(',');
  if (comma <= 0 || comma === text.length - 1) throw new StartError(`${place}: expected ROLE,USERNAME-OR-ID.`);
  const [role, member] = [text.slice(0, comma).trim(), text.slice(comma + 1).trim()];
  if (isName(role) && isName(member)) return { role, member };
  throw new StartError(`${place}: names have 1 to ${MAX_NAME_LENGTH} characters and no NUL. Save the file as UTF-8.`);
}
