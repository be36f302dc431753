import type { JsonObject } from '#contracts';
import type { Acl } from '#objects';

/** A role as it is stored, without its application and its members. */
export interface RoleRow {
  readonly objectId: string;
  readonly name: string;
  readonly acl: Acl;
  /** The custom fields. */
  readonly fields: JsonObject;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** The relations of a role: its users, and the roles whose users it has as well. */
export type RoleRelation = 'users' | 'roles';
