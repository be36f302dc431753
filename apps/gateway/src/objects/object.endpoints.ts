import { z } from 'zod';
import { DEFAULT_LIST_LIMIT, MAX_LIST_LIMIT, MAX_LIST_SKIP } from '#contracts';
import type { ErrorName } from '#errors';
import { aclSchema, type ObjectClass, objectIdSchema, requestSchema, responseSchema, timestampSchema } from '#objects';
import { describeEndpoints, type EndpointDescription, named, type Topic } from '../openapi/endpoint.decorator.js';

export const timestamp = timestampSchema;
export const acl = named('ACL', aclSchema);

const on = z.enum(['1', 'true']).optional();

export const CONDITION_ERRORS = [
  'NOT_FOUND',
  'INVALID_QUERY',
  'INVALID_KEY_NAME',
  'MALFORMED_POINTER',
  'GEO_POINT_QUERY',
  'QUERY_TIMED_OUT',
] as const satisfies ErrorName[];

export const READ_ERRORS = [
  'INVALID_QUERY',
  'INVALID_KEY_NAME',
  'INCORRECT_TYPE',
  'OBJECT_TOO_LARGE',
] as const satisfies ErrorName[];

export const LIST_ERRORS = [...CONDITION_ERRORS, ...READ_ERRORS] as const satisfies ErrorName[];

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

export const listParams = readParams.extend({
  where: z.string().optional().describe('Conditions, as JSON.'),
  order: z.string().optional().describe('At most 10 sort keys: `level,-createdAt`. The default is `createdAt`.'),
  limit: z
    .string()
    .optional()
    .describe(`1 to ${MAX_LIST_LIMIT}, or 0 with \`count\`. Any other value means ${DEFAULT_LIST_LIMIT}, the default.`),
  skip: z
    .string()
    .optional()
    .describe(`0 to ${MAX_LIST_SKIP.toLocaleString('en')}.`),
  count: on.describe(
    'Adds `count`, the number of all matching objects. With `limit=0` the response contains no objects.',
  ),
});

const where = z
  .string()
  .optional()
  .describe(
    'Conditions, as JSON. The write fails for an object that does not meet them, or that the caller may not get.',
  );

export const writeParams = z.object({
  new: on.describe('Adds the changed fields to the response, if the caller may get the object.'),
  fetchWhenSave: on.describe('The same as `new`.'),
  where,
});

export const removeParams = z.object({ where });

export const listOf = <Shape extends z.ZodType>(
  shape: Shape,
): z.ZodObject<{ results: z.ZodArray<Shape>; count: z.ZodOptional<z.ZodNumber> }> =>
  z.object({ results: z.array(shape), count: z.number().int().min(0).optional() });

/** SDKs that do not know the class of a relation name the relation, beside a condition with `$relatedTo`. */
const redirectClassNameForKey = z
  .string()
  .optional()
  .describe('A relation of the class: the query is one of its objects, whose class the response names.');
const relatedObjects = listOf(z.looseObject({ objectId: objectIdSchema })).extend({ className: z.string() });

export const FIELD_ERRORS = [
  'INVALID_KEY_NAME',
  'MALFORMED_POINTER',
  'INCORRECT_TYPE',
  'OBJECT_TOO_LARGE',
  'READ_ONLY_KEY',
  'INVALID_NESTED_KEY',
  'INVALID_ACL',
  'INVALID_RELATION',
] as const satisfies ErrorName[];

/** The endpoints of a class, by the method of its controller. */
export type ObjectEndpoints = Readonly<Record<'create' | 'list' | 'get' | 'update' | 'remove', EndpointDescription>>;

interface ObjectTexts {
  readonly topic: Topic;
  /** The class in a sentence: `a role`, `roles`. */
  readonly singular: string;
  readonly plural: string;
  readonly fieldErrors: readonly ErrorName[];
  readonly createErrors?: readonly ErrorName[];
  /** Differences from the endpoints of other classes. */
  readonly create?: Partial<EndpointDescription>;
  readonly descriptions?: Partial<Readonly<Record<keyof ObjectEndpoints, string>>>;
}

/** Describes the endpoints of a class. Bodies and parameters follow from the definition. */
export function objectEndpoints(objectClass: ObjectClass, texts: ObjectTexts): ObjectEndpoints {
  const { create: differences, descriptions = {}, topic } = texts;
  const described = (name: keyof ObjectEndpoints): { description?: string } => {
    const description = descriptions[name];
    return description === undefined ? {} : { description };
  };
  const { create, update } = writeEndpoints(objectClass, texts);
  const { get, list } = readEndpoints(objectClass, texts);
  return describeEndpoints(topic, {
    create: { ...create, ...described('create'), ...differences },
    list: { ...list, ...described('list') },
    get: { ...get, ...described('get') },
    update: { ...update, ...described('update') },
    remove: removeEndpoint(texts),
  });
}

type Described = Omit<EndpointDescription, 'topic'>;

function writeEndpoints(
  objectClass: ObjectClass,
  texts: ObjectTexts,
): Readonly<Record<'create' | 'update', Described>> {
  const { singular, fieldErrors, createErrors = [] } = texts;
  const errors = [...new Set<ErrorName>([...FIELD_ERRORS, ...fieldErrors])];
  return {
    create: {
      summary: `Create ${singular}`,
      credentials: 'application',
      query: writeParams.omit({ where: true }),
      body: requestSchema(objectClass, 'create', acl),
      answers: {
        201: {
          description: 'The id and time of the object, or the whole object with `fetchWhenSave`.',
          body: z.looseObject({ objectId: objectIdSchema, createdAt: timestamp }),
          headers: { Location: `The absolute URL of ${theOne(singular)}.` },
        },
      },
      errors: [...errors, ...createErrors, 'FORBIDDEN'],
    },
    update: {
      summary: `Change ${singular}`,
      credentials: 'application',
      query: writeParams,
      body: requestSchema(objectClass, 'change', acl),
      answers: {
        200: {
          description: 'The time of the change.',
          body: z.looseObject({ objectId: objectIdSchema, updatedAt: timestamp }),
        },
      },
      errors: [...new Set<ErrorName>([...errors, ...CONDITION_ERRORS]), 'NO_EFFECT', 'FORBIDDEN'],
    },
  };
}

function readEndpoints(
  objectClass: ObjectClass,
  { singular, plural }: ObjectTexts,
): Readonly<Record<'get' | 'list', Described>> {
  const object = responseSchema(objectClass, acl);
  const hasRelations = objectClass.definition.relations !== undefined;
  const listed = listOf(object);
  return {
    list: {
      summary: `Query ${plural}`,
      credentials: 'application',
      query: listParams.extend(hasRelations ? { redirectClassNameForKey } : {}),
      answers: {
        200: {
          description: `The matching ${plural}.`,
          body: hasRelations ? z.union([listed, relatedObjects]) : listed,
        },
      },
      errors: [...new Set<ErrorName>([...LIST_ERRORS, 'FORBIDDEN'])],
    },
    get: {
      summary: `Get ${singular}`,
      credentials: 'application',
      query: readParams,
      answers: {
        200: {
          description: `${theOne(singular, 'The')}; \`{}\` if it does not exist or its ACL hides it.`,
          body: object.partial(),
        },
      },
      errors: [...READ_ERRORS, 'NOT_FOUND', 'FORBIDDEN'],
    },
  };
}

function removeEndpoint({ plural, descriptions = {} }: ObjectTexts): Described {
  return {
    summary: `Delete ${plural}`,
    description: `${descriptions.remove ?? ''} Several ids are separated by commas: all are deleted, or none.`.trim(),
    credentials: 'application',
    query: removeParams,
    answers: { 200: { description: 'Done.', body: z.object({}) } },
    errors: [...CONDITION_ERRORS, 'NO_EFFECT', 'FORBIDDEN'],
  };
}

function theOne(singular: string, article = 'the'): string {
  return singular.replace(/^an? /, `${article} `);
}
