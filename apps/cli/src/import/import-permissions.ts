import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { StartError } from '#bootstrap';
import {
  type Application,
  applicationsRpc,
  CLASS_NAMES,
  CLASS_OPERATIONS,
  type ClassName,
  type ClassOperation,
  type ClassPermission,
  classPermission,
  classPermissions,
  type JsonObject,
  type JsonValue,
} from '#contracts';
import type { RpcClient } from '#messaging';
import { isJsonObject } from '#objects';
import type { Export, ExportRow } from '../export/export.types.js';
import { type MemberRow, rowsOf } from './import-run.js';
import type { ImportSummary } from './import-summary.js';

interface PermissionOptions {
  readonly app: string;
  readonly isPreview: boolean;
}

interface PermissionChange {
  readonly className: ClassName;
  readonly operation: ClassOperation;
  readonly permission: ClassPermission;
}

/**
 * Imports `_X_permissions.json` and `_X_all.json`. A permission that an operator has changed here is kept.
 * @returns the changes, as text
 */
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
      summary.warn(`The permission ${className}.${operation} is kept: it was changed here.`);
      continue;
    }
    made.push(`${className}.${operation}: ${textOf(current)} → ${textOf(permission)}`);
    if (!isPreview)
      await rpc.call(applicationsRpc.changePermission, { id: app, className, operations: [operation], permission });
  }
  return made;
}

async function permissionsIn(source: Export, summary: ImportSummary): Promise<PermissionChange[]> {
  const changes = new Map<string, PermissionChange>();
  for await (const row of rowsOf(source, ({ kind }) => kind === 'permissions')) {
    const className = CLASS_NAMES.find((name) => name === row.className);
    const found = className === undefined || !('row' in row) ? [] : changesOf(className, row.row, summary);
    for (const change of found) changes.set(`${change.className}.${change.operation}`, change);
    if ('problem' in row) summary.warn(`${row.file}: ${row.problem}`);
  }
  return [...changes.values()];
}

function changesOf(className: ClassName, row: JsonObject, summary: ImportSummary): PermissionChange[] {
  const permissions = row['permissions'];
  if (!isJsonObject(permissions)) return [];
  return CLASS_OPERATIONS.flatMap((operation) => {
    const value = permissions[operation];
    if (value === undefined) return [];
    const { success, data } = classPermission.safeParse(permissionOf(value));
    if (success) return [{ className, operation, permission: data }];
    summary.warn(`The permission ${className}.${operation} of the export is not valid: it stays as it is here.`);
    return [];
  });
}

/** `{"*":true}`, `{"onlySignInUsers":true}`, or users and roles: a list, one id, or the empty text. */
function permissionOf(value: JsonValue): unknown {
  if (!isJsonObject(value)) return undefined;
  if (value['*'] === true) return 'everyone';
  if (value['onlySignInUsers'] === true) return 'users';
  return [
    ...listOf(value['users']),
    ...listOf(value['roles']).map((name) => (typeof name === 'string' ? `role:${name}` : name)),
  ];
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

function textOf(permission: ClassPermission): string {
  if (typeof permission === 'string') return permission;
  return permission.length === 0 ? 'master key' : permission.join(' ');
}

const LISTED = '_Role members';
const MAX_NAME_LENGTH = 255;

/** Unreadable rows are refused. */
export async function* memberRows(rows: AsyncIterable<ExportRow>, summary: ImportSummary): AsyncIterable<MemberRow> {
  for await (const row of rows) {
    const place = { file: row.file, line: row.line, className: row.className };
    const { owningId, relatedId }: JsonObject = 'row' in row ? row.row : {};
    if (isName(owningId) && isName(relatedId)) yield { place, role: owningId, member: relatedId };
    else if ('problem' in row) await summary.refuse(place, { field: '', reason: row.problem });
    else await summary.refuse(place, { field: 'owningId', reason: 'or relatedId is missing' });
  }
}

function isName(value: JsonValue | undefined): value is string {
  return typeof value === 'string' && value !== '' && value.length <= MAX_NAME_LENGTH;
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
  return { role: text.slice(0, comma).trim(), member: text.slice(comma + 1).trim() };
}
