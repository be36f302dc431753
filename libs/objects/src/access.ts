import { type ClassOperation, type ClassPermission, isUserOrRole, type JsonValue, type Principal } from '#contracts';
import { type AppError, appError } from '#errors';
import { isJsonObject } from './values.js';

export const ANONYMOUS: Principal = { userId: undefined, roles: [] };

/** The keys of an ACL that match this principal (specification, Access control list). */
export function granteesOf({ userId, roles }: Principal): string[] {
  return ['*', ...(userId === undefined ? [] : [userId]), ...roles.map((name) => `role:${name}`)];
}

type Permission = 'read' | 'write';

/** The read and write permissions of one object (specification, Access control list). */
export type Acl = Readonly<Record<string, Readonly<Partial<Record<Permission, true>>>>>;

const PERMISSIONS: ReadonlySet<string> = new Set<Permission>(['read', 'write']);
const MAX_ENTRIES = 1_000;

/**
 * Values are always `true` (specification, Access control list). The SDKs for Flutter, C#, PHP and Java send `false`, too, which grants
 * nothing and is left out.
 * @throws AppError INVALID_ACL where the value is not an ACL
 */
export function parseAcl(value: JsonValue): Acl {
  const entries = isJsonObject(value) ? Object.entries(value) : undefined;
  if (entries === undefined || entries.length > MAX_ENTRIES || !entries.every(isEntry)) throw appError('INVALID_ACL');
  const granted = entries.map(([grantee, permissions]) => [grantee, onlyGranted(permissions)] as const);
  return Object.fromEntries(granted.filter(([, permissions]) => Object.keys(permissions).length > 0));
}

function onlyGranted(permissions: Entry[1]): Acl[string] {
  return Object.fromEntries(Object.entries(permissions).filter(([, granted]) => granted));
}

/** Whether the ACL grants a permission to one of the grantees: `*`, user ids, `role:<name>`. A missing ACL grants everything. */
export function grants(acl: Acl | null, permission: Permission, grantees: readonly string[]): boolean {
  return acl === null || grantees.some((grantee) => Object.hasOwn(acl, grantee) && acl[grantee]?.[permission] === true);
}

/** The error for a write that the ACL forbids. */
export function writeForbidden(): AppError {
  return appError('FORBIDDEN', { message: "Forbidden writing by object's ACL." });
}

type Entry = [grantee: string, permissions: Partial<Record<Permission, boolean>>];

function isEntry(entry: [string, JsonValue]): entry is Entry {
  const [grantee, permissions] = entry;
  return (
    (grantee === '*' || isUserOrRole(grantee)) &&
    isJsonObject(permissions) &&
    Object.entries(permissions).every(([name, granted]) => PERMISSIONS.has(name) && typeof granted === 'boolean')
  );
}

/** Whether a class permission admits the principal. */
export function isGranted(permission: ClassPermission, principal: Principal): boolean {
  if (permission === 'everyone') return true;
  if (permission === 'users') return principal.userId !== undefined;
  return granteesOf(principal).some((grantee) => permission.includes(grantee));
}

/** The error for an operation that a class permission forbids. */
export function classForbidden(operation: ClassOperation, className: string): AppError {
  return appError('FORBIDDEN', { message: `Forbidden to ${operation} by class '${className}' permissions.` });
}
