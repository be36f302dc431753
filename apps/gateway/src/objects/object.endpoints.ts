import { z } from 'zod';
import type { ErrorName } from '#errors';
import { named } from '../openapi/endpoint.decorator.js';

export const timestamp = z.iso.datetime({ precision: 3 });
export const objectId = z
  .string()
  .regex(/^[0-9A-Za-z_-]{1,64}$/)
  .describe('24 hexadecimal digits if Gatepost created the object; imported objects keep their ids.');
export const acl = named(
  'ACL',
  z
    .record(z.string(), z.object({ read: z.literal(true).optional(), write: z.literal(true).optional() }))
    .describe('Read and write access, by user id, `*` for all users, or `role:<name>`.'),
);

const on = z.enum(['1', 'true']).optional();

/** The errors of the parameter `where`. */
export const CONDITION_ERRORS = [
  'NOT_FOUND',
  'INVALID_QUERY',
  'INVALID_KEY_NAME',
  'MALFORMED_POINTER',
  'GEO_POINT_QUERY',
  'QUERY_TIMED_OUT',
] as const satisfies ErrorName[];

/** The errors of the parameters `keys` and `include`. */
export const READ_ERRORS = [
  'INVALID_QUERY',
  'INVALID_KEY_NAME',
  'INCORRECT_TYPE',
  'OBJECT_TOO_LARGE',
] as const satisfies ErrorName[];

/** The errors of a query. */
export const LIST_ERRORS = [...CONDITION_ERRORS, ...READ_ERRORS] as const satisfies ErrorName[];

/** Parameters of a GET of one object. */
export const readParams = z.object({
  keys: z
    .string()
    .optional()
    .describe(
      '`keys=a,b.c`: only these fields, with `objectId`, `createdAt` and `updatedAt`; `keys=-a,-b`: all but these.',
    ),
  include: z
    .string()
    .optional()
    .describe('`include=friend,friend.boss`: replaces these Pointers with the objects that they point to.'),
  returnACL: on.describe('Includes the ACL also for callers other than the owner.'),
});

/** Parameters of a query. */
export const listParams = readParams.extend({
  where: z.string().optional().describe('Conditions, as JSON.'),
  order: z.string().optional().describe('At most 10 sort keys: `level,-createdAt`. The default is `createdAt`.'),
  limit: z.string().optional().describe('0 to 1000. Any other value means 100, the default.'),
  skip: z.string().optional().describe('0 to 1,000,000,000.'),
  count: on.describe(
    'Adds `count`, the number of all matching objects. With `limit=0` the response contains no objects.',
  ),
});

const where = z
  .string()
  .optional()
  .describe('Conditions, as JSON. The write fails for an object that does not meet them.');

/** Parameters of a change. */
export const writeParams = z.object({
  new: on.describe('Adds the changed fields to the response.'),
  fetchWhenSave: on.describe('The same as `new`.'),
  where,
});

/** Parameters of a deletion. */
export const removeParams = z.object({ where });

/** The response to a query for objects of the given shape. */
export const listOf = <Shape extends z.ZodType>(
  shape: Shape,
): z.ZodObject<{ results: z.ZodArray<Shape>; count: z.ZodOptional<z.ZodNumber> }> =>
  z.object({ results: z.array(shape), count: z.number().int().min(0).optional() });
