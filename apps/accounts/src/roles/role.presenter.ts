import type { JsonObject } from '#contracts';
import type { RoleRow } from './role.row.js';

/** The public JSON of a role. Its members are asked for by queries. */
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
