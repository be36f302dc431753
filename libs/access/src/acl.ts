import { isUserOrRole, type JsonValue } from '#contracts';
import { type AppError, appError } from '#errors';
import { isJsonObject } from '#object-values';

type Permission = 'read' | 'write';

/** Who may read or write one object (specification, Access control list). */
export type Acl = Readonly<Record<string, Readonly<Partial<Record<Permission, true>>>>>;

const PERMISSIONS: ReadonlySet<string> = new Set<Permission>(['read', 'write']);
const MAX_ENTRIES = 1_000;

/** @throws AppError INVALID_ACL where the value is no ACL */
export function parseAcl(value: JsonValue): Acl {
  const entries = isJsonObject(value) ? Object.entries(value) : undefined;
  if (entries === undefined || entries.length > MAX_ENTRIES || !entries.every(isEntry)) throw appError('INVALID_ACL');
  return value as unknown as Acl;
}

/** Whether the ACL grants a permission to one of the grantees: `*`, user ids, `role:<name>`. No ACL grants all. */
export function grants(acl: Acl | null, permission: Permission, grantees: readonly string[]): boolean {
  return acl === null || grantees.some((grantee) => Object.hasOwn(acl, grantee) && acl[grantee]?.[permission] === true);
}

/** The answer to whom an ACL does not let write. */
export function writeForbidden(): AppError {
  return appError('FORBIDDEN', { message: "Forbidden writing by object's ACL." });
}

function isEntry([grantee, permissions]: [string, JsonValue]): boolean {
  return (
    (grantee === '*' || isUserOrRole(grantee)) &&
    isJsonObject(permissions) &&
    Object.entries(permissions).every(([name, granted]) => PERMISSIONS.has(name) && granted === true)
  );
}
