import type { JsonObject, JsonValue } from '#contracts';
import { appError } from '#errors';
import {
  type Acl,
  changedRoots,
  type FieldChange,
  isJsonObject,
  parseAcl,
  parseChanges,
  readOnlyKey,
  type RelationChange,
} from '#objects';

/** A stored role, without its application and its members. */
export interface RoleRow {
  readonly objectId: string;
  readonly name: string;
  readonly acl: Acl;
  /** The custom fields. */
  readonly fields: JsonObject;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** The relations of a role: its users, and the roles whose users it includes. */
export type RoleRelation = 'users' | 'roles';

/** The requested changes of a role, validated but not yet compared with the stored role. Absent members do not change. */
interface RoleChanges {
  readonly name?: string;
  readonly acl?: Acl;
  readonly custom: readonly FieldChange[];
  /** In the order of their execution. */
  readonly members: readonly MemberChange[];
}

export interface MemberChange {
  readonly relation: RoleRelation;
  readonly kind: RelationChange['kind'];
  readonly ids: readonly string[];
}

const ROLE_NAME = /^[A-Za-z0-9_]{1,128}$/;
const SERVER_OWNED = new Set(['objectId', 'createdAt', 'updatedAt', 'className']);
const MEMBER_CLASSES: Readonly<Record<RoleRelation, string>> = { users: '_User', roles: '_Role' };

/**
 * Parses the fields of a new role or of an update.
 * @throws AppError with the code of the first invalid field
 */
export function parseRoleChanges({ name, ACL, ...fields }: JsonObject): RoleChanges {
  const owned = changedRoots(fields).find((field) => SERVER_OWNED.has(field));
  if (owned !== undefined) throw readOnlyKey(owned);
  const asked = Object.entries(fields).filter(([key, value]) => !(isRelation(key) && isPlaceholder(value)));
  const { values, relations } = parseChanges(Object.fromEntries(asked));
  const misused = values.find(({ path }) => isFixed(path[0]));
  if (misused !== undefined)
    throw appError('INCORRECT_TYPE', { message: `${misused.path[0]} cannot be set in this way.` });
  return {
    ...(name === undefined ? {} : { name: parseRoleName(name) }),
    ...(ACL === undefined ? {} : { acl: parseRoleAcl(ACL) }),
    custom: values,
    members: relations.map(parseMembers),
  };
}

/** @throws AppError INVALID_ROLE_NAME */
export function parseRoleName(name: JsonValue | undefined): string {
  if (typeof name !== 'string' || !ROLE_NAME.test(name)) throw appError('INVALID_ROLE_NAME');
  return name;
}

/** A role requires an ACL: without one every user could join it. @throws AppError ROLE_ACL_REQUIRED, INVALID_ACL */
export function parseRoleAcl(acl: JsonValue | undefined): Acl {
  if (acl === undefined || acl === null) throw appError('ROLE_ACL_REQUIRED');
  return parseAcl(acl);
}

function parseMembers({ field, kind, objects }: RelationChange): MemberChange {
  if (!isRelation(field)) throw appError('INCORRECT_TYPE', { message: `${field} is not a relation of a role.` });
  const className = MEMBER_CLASSES[field];
  if (objects.some((pointer) => pointer.className !== className))
    throw appError('INVALID_RELATION', { message: `${field} holds objects of ${className}.` });
  return { relation: field, kind, ids: objects.map(({ objectId }) => objectId) };
}

function isRelation(field: string): field is RoleRelation {
  return Object.hasOwn(MEMBER_CLASSES, field);
}

/** The value that SDKs send for an unchanged relation. */
function isPlaceholder(value: JsonValue): boolean {
  return isJsonObject(value) && value['__type'] === 'Relation';
}

function isFixed(field: string): boolean {
  return isRelation(field) || field === 'name' || field === 'ACL';
}

/** The public JSON of a role. Queries return its members. */
export function presentRole(role: RoleRow, { showsAcl }: { readonly showsAcl: boolean }): JsonObject {
  return {
    ...role.fields,
    objectId: role.objectId,
    name: role.name,
    users: { __type: 'Relation', className: '_User' },
    roles: { __type: 'Relation', className: '_Role' },
    ...(showsAcl ? { ACL: role.acl } : {}),
    createdAt: role.createdAt.toISOString(),
    updatedAt: role.updatedAt.toISOString(),
  };
}
