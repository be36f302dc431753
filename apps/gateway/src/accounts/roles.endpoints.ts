import { z } from 'zod';
import type { ErrorName } from '#errors';
import {
  acl,
  CONDITION_ERRORS,
  LIST_ERRORS,
  listOf,
  listParams,
  objectId,
  READ_ERRORS,
  readParams,
  removeParams,
  timestamp,
  writeParams,
} from '../objects/object.endpoints.js';
import { describeEndpoints } from '../openapi/endpoint.decorator.js';

const name = z
  .string()
  .regex(/^[A-Za-z0-9_]{1,128}$/)
  .describe('Unique and immutable.');
const relation = z
  .looseObject({ __op: z.enum(['AddRelation', 'RemoveRelation', 'Batch']).optional() })
  .describe('`{"__op":"AddRelation","objects":[<Pointer>, …]}`, `RemoveRelation`, or `Batch` with both in `ops`.');

const role = z
  .looseObject({ objectId, createdAt: timestamp, updatedAt: timestamp, name: name.optional(), ACL: acl.optional() })
  .describe('A role. Queries find its users and roles; any other member is a custom field.');

const newRole = z
  .looseObject({ name, ACL: acl, users: relation.optional(), roles: relation.optional() })
  .describe('The new role; any other member is a custom field.');

const roleFields = z
  .looseObject({ ACL: acl.optional(), users: relation.optional(), roles: relation.optional() })
  .describe('The fields to change; any other member is a custom field.');

/** The errors of the fields of a role. */
const FIELD_ERRORS = [
  'INVALID_KEY_NAME',
  'MALFORMED_POINTER',
  'INCORRECT_TYPE',
  'OBJECT_TOO_LARGE',
  'READ_ONLY_KEY',
  'INVALID_NESTED_KEY',
  'INVALID_ACL',
  'INVALID_RELATION',
  'INVALID_ROLE_NAME',
  'ROLE_ACL_REQUIRED',
] as const satisfies ErrorName[];

export const rolesEndpoints = describeEndpoints('Roles', {
  create: {
    summary: 'Create a role',
    credentials: 'application',
    query: writeParams.omit({ where: true, new: true }),
    body: newRole,
    answers: {
      201: {
        description: 'The id and time of the role, or the whole role with `fetchWhenSave`.',
        body: z.looseObject({ objectId, createdAt: timestamp }),
        headers: { Location: 'The absolute URL of the role.' },
      },
    },
    errors: [...FIELD_ERRORS, 'UNIQUE_FIELD_TAKEN', 'FORBIDDEN'],
  },
  list: {
    summary: 'Query roles',
    description: 'The roles of a user: `where={"users":<Pointer>}`. The results omit roles that their ACL hides.',
    credentials: 'application',
    query: listParams,
    answers: { 200: { description: 'The matching roles.', body: listOf(role) } },
    errors: [...LIST_ERRORS, 'FORBIDDEN'],
  },
  get: {
    summary: 'Get a role',
    credentials: 'application',
    query: readParams,
    answers: {
      200: { description: 'The role; `{}` if it does not exist or its ACL hides it.', body: role.partial() },
    },
    errors: [...READ_ERRORS, 'NOT_FOUND', 'FORBIDDEN'],
  },
  update: {
    summary: 'Change a role or its members',
    description: 'Write access by the ACL of the role includes its members.',
    credentials: 'application',
    query: writeParams,
    body: roleFields,
    answers: {
      200: { description: 'The time of the change.', body: z.looseObject({ objectId, updatedAt: timestamp }) },
    },
    errors: [...FIELD_ERRORS, ...CONDITION_ERRORS, 'NO_EFFECT', 'FORBIDDEN'],
  },
  remove: {
    summary: 'Delete roles',
    description: 'Several ids are separated by commas: all are deleted, or none.',
    credentials: 'application',
    query: removeParams,
    answers: { 200: { description: 'Done.', body: z.object({}) } },
    errors: [...CONDITION_ERRORS, 'NO_EFFECT', 'FORBIDDEN'],
  },
});
