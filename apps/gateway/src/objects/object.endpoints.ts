import { z } from 'zod';
import type { ErrorName } from '#errors';
import { named } from '../openapi/endpoint.decorator.js';

export const timestamp = z.iso.datetime({ precision: 3 });
export const objectId = z
  .string()
  .regex(/^[0-9A-Za-z_-]{1,64}$/)
  .describe('24 hexadecimal digits where it was made here; imported objects keep the id that they had.');
export const acl = named(
  'ACL',
  z
    .record(z.string(), z.object({ read: z.literal(true).optional(), write: z.literal(true).optional() }))
    .describe('Who may read and write: user ids, `*` for everybody, or `role:<name>`.'),
);

const on = z.enum(['1', 'true']).optional();

/** What a `where` can be refused for. */
export const CONDITION_ERRORS = [
  'NOT_FOUND',
  'INVALID_QUERY',
  'INVALID_KEY_NAME',
  'MALFORMED_POINTER',
  'GEO_POINT_QUERY',
  'QUERY_TIMED_OUT',
] as const satisfies ErrorName[];

/** What `keys` and `include` can be refused for. */
export const READ_ERRORS = [
  'INVALID_QUERY',
  'INVALID_KEY_NAME',
  'INCORRECT_TYPE',
  'OBJECT_TOO_LARGE',
] as const satisfies ErrorName[];

/** What a query can be refused for: its parameters, the time that it takes, the length of its answer. */
export const LIST_ERRORS = [...CONDITION_ERRORS, ...READ_ERRORS] as const satisfies ErrorName[];

/** Parameters of a GET of one object. */
export const readParams = z.object({
  keys: z
    .string()
    .optional()
    .describe(
      '`keys=a,b.c`: only these fields, with `objectId`, `createdAt` and `updatedAt`; `keys=-a,-b`: all but these.',
    ),
  include: z.string().optional().describe('`include=friend,friend.boss`: objects in the place of Pointers to them.'),
  returnACL: on.describe('The ACL is shown to others than the owner too.'),
});

/** Parameters of a query. */
export const listParams = readParams.extend({
  where: z.string().optional().describe('Conditions, as JSON.'),
  order: z.string().optional().describe('Sort keys, 10 at most: `level,-createdAt`. By `createdAt` unless given.'),
  limit: z.string().optional().describe('0 to 1000; 100 where it is missing or anything else.'),
  skip: z.string().optional().describe('0 to 1,000,000,000.'),
  count: on.describe('Adds `count`, the number of all that match; with `limit=0` only it.'),
});

const where = z.string().optional().describe('Conditions, as JSON: only an object that meets them is changed.');

/** Parameters of a change. */
export const writeParams = z.object({
  new: on.describe('The answer has the changed fields too.'),
  fetchWhenSave: on.describe('The same as `new`.'),
  where,
});

/** Parameters of a deletion. */
export const removeParams = z.object({ where });

/** The answer to a query for objects of the given shape. */
export const listOf = <Shape extends z.ZodType>(
  shape: Shape,
): z.ZodObject<{ results: z.ZodArray<Shape>; count: z.ZodOptional<z.ZodNumber> }> =>
  z.object({ results: z.array(shape), count: z.number().int().min(0).optional() });
