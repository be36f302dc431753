import { z } from 'zod';
import type { JsonValue } from '#contracts';
import { appError } from '#errors';
import type { ObjectRow } from '../class-definition.js';
import { defineClass } from '../object-class.js';
import type { Acl } from '../values.js';

export interface RoleRow extends ObjectRow {
  readonly name: string;
  readonly acl: Acl;
}

const ROLE_NAME = /^[A-Za-z0-9_]{1,128}$/;

function parseRoleName(name: JsonValue): string {
  if (typeof name !== 'string' || !ROLE_NAME.test(name)) throw appError('INVALID_ROLE_NAME');
  return name;
}

/** Roles: an ACL is required, because without one every user could join the role (specification, Access control list). */
export const roleClass = defineClass<RoleRow>()({
  name: '_Role',
  table: 'accounts.roles',
  description: 'A role. Queries find its users and roles.',
  fields: {
    name: {
      schema: z.string().regex(ROLE_NAME).describe('Unique and immutable.'),
      parse: parseRoleName,
      missingError: 'INVALID_ROLE_NAME',
      isImmutable: true,
      takenError: 'UNIQUE_FIELD_TAKEN',
      query: { type: 'text', isUnique: true },
    },
  },
  relations: {
    users: {
      className: '_User',
      table: 'accounts.role_users',
      ownerColumn: 'role_id',
      memberColumn: 'user_id',
      description: 'The users of the role.',
    },
    roles: {
      className: '_Role',
      table: 'accounts.role_children',
      ownerColumn: 'role_id',
      memberColumn: 'child_id',
      description: 'The roles whose users belong to the role.',
    },
  },
  missingAclError: 'ROLE_ACL_REQUIRED',
});
