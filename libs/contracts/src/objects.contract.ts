import { z } from 'zod';
import { appId, CLASS_NAMES } from './application.schema.js';
import { caller, jsonObject, PASSWORD_TIMEOUT_MS, principal, rpc } from './messages.schema.js';
import { identityChanges } from './user.schema.js';

export const DEFAULT_LIST_LIMIT = 100;
export const MAX_LIST_LIMIT = 1000;
export const MAX_LIST_SKIP = 1_000_000_000;
export const MAX_REMOVED_OBJECTS = 200;
export const MAX_SAVED_OBJECTS = 100;

const text = (most: number) => z.string().max(most, `may have at most ${most} characters.`);
const className = z.string().min(1).max(128);

export const objectId = z.string().min(1).max(64);
const keys = z.array(text(256)).max(100, 'may have at most 100 names.').optional();
const include = text(1024).optional();
/** The parameter `where` as parsed JSON; the service that runs the query validates it. */
const where = z.unknown().optional();

export const objectListQuery = z.object({
  where,
  order: text(1024).optional(),
  limit: z.number().int().min(0).max(MAX_LIST_LIMIT),
  skip: z.number().int().min(0).max(MAX_LIST_SKIP),
  /** Only objects that follow this one in the order `createdAt,objectId`. */
  after: z.object({ createdAt: z.iso.datetime(), objectId }).optional(),
  keys,
  include,
  count: z.boolean(),
  returnAcl: z.boolean(),
});

export type ObjectListQuery = z.output<typeof objectListQuery>;

export const objectReadOptions = z.object({ keys, include, returnAcl: z.boolean() });

export type ObjectReadOptions = z.output<typeof objectReadOptions>;

/** `where`: change the object only if it matches. `returnNew`: include the changed fields in the response. */
export const objectWriteOptions = z.object({ returnNew: z.boolean(), where });

export type ObjectWriteOptions = z.output<typeof objectWriteOptions>;

const objectRemoval = z.object({ caller, objectIds: z.array(objectId).min(1).max(MAX_REMOVED_OBJECTS), where });

const objectWrite = objectWriteOptions.extend({
  className,
  /** Identifies the object within request and response. The client generates it for a new object. */
  internalId: z.string().min(1).max(128),
  /** Absent: the object is new, or for an installation a registration. */
  objectId: objectId.optional(),
  fields: jsonObject,
  identities: identityChanges.optional(),
  /** Fields to be set to pointers to other objects of the same request, addressed by internal id. */
  children: z
    .array(z.object({ className: z.string().max(128), cid: z.string().max(128), key: z.string().max(256) }))
    .max(100),
});

export type ObjectWrite = z.output<typeof objectWrite>;

export type ObjectsRpc = ReturnType<typeof objectsOf>;

function objectsOf(service: string, timeoutMs?: number) {
  /** A service without users receives the principal, which the gateway has resolved. */
  const request = z.object({ caller, principal: principal.optional(), className });
  return {
    /** `isNew` is false where a registration has matched an existing installation. */
    create: rpc(
      `${service}.createObject`,
      request.extend({ fields: jsonObject, returnNew: z.boolean() }),
      z.object({ objectId, isNew: z.boolean(), result: jsonObject }),
    ),
    /** `object` is null where it does not exist, or where the caller cannot read it. */
    get: rpc(
      `${service}.getObject`,
      objectReadOptions.extend(request.shape).extend({ objectId }),
      z.object({ object: jsonObject.nullable() }),
    ),
    find: rpc(
      `${service}.findObjects`,
      objectListQuery.extend(request.shape),
      z.object({ results: z.array(jsonObject), count: z.number().int().optional() }),
    ),
    /** An installation that does not exist is created under the given id where the request names a device. */
    update: rpc(
      `${service}.updateObject`,
      objectWriteOptions.extend(request.shape).extend({ objectId, changes: jsonObject }),
      z.object({ result: jsonObject }),
    ),
    remove: rpc(`${service}.removeObjects`, objectRemoval.extend(request.shape), z.object({})),
    saveAll: rpc(
      `${service}.saveAll`,
      request.omit({ className: true }).extend({ writes: z.array(objectWrite).min(1).max(MAX_SAVED_OBJECTS) }),
      z.object({ results: z.array(z.object({ internalId: z.string(), result: jsonObject })) }),
      timeoutMs,
    ),
  };
}

export const objectsRpc = objectsOf('accounts', PASSWORD_TIMEOUT_MS);

export const installationsRpc = objectsOf('push-delivery');

export const includesRpc = {
  /** Adds the fields of the objects behind Pointers, where the caller may get them. Then it picks the keys. */
  resolve: rpc(
    'accounts.includeObjects',
    objectReadOptions.extend({ caller, objects: z.array(jsonObject).max(MAX_LIST_LIMIT) }),
    z.object({ objects: z.array(jsonObject) }),
  ),
};

export const MAX_INDEXED_FIELDS = 3;

const indexedClass = z.enum(CLASS_NAMES);
const fields = z
  .array(z.string().regex(/^[A-Za-z]\w{0,127}$/, 'is not a valid field name'))
  .min(1)
  .max(MAX_INDEXED_FIELDS, `an index has at most ${MAX_INDEXED_FIELDS} fields`);
const count = z.number().int().min(0);

const fieldIndex = z.object({
  className: indexedClass,
  fields: z.array(z.string()),
  /** `removing`: queries no longer use it. `failed`: `problem` gives the reason; remove the index, or add it again. */
  state: z.enum(['building', 'ready', 'failed', 'removing']),
  problem: z.string().nullable(),
  /** Progress of the build according to PostgreSQL's `pg_stat_progress_create_index`; null before the build starts. */
  progress: z.object({ phase: z.string(), percent: z.number().min(0).max(100).nullable() }).nullable(),
  bytes: count,
});

export type FieldIndexReport = z.output<typeof fieldIndex>;

/** A kind of slow query of the last day: fields and operators, never values. */
const slowQuestion = z.object({
  className: indexedClass,
  question: z.string(),
  runs: count,
  meanMs: count,
  maxMs: count,
  fields: z.array(z.string()),
  isIndexed: z.boolean(),
});

export type SlowQuery = z.output<typeof slowQuestion>;

/** RPCs for operators about indexes of custom fields, served by the service that stores the class. Available like `applicationsRpc`. */
function fieldIndexesRpc(service: 'accounts' | 'push-delivery') {
  const named = z.object({ appId, className: indexedClass, fields });
  return {
    /** Replies once the request is stored; the build follows. Fails with INVALID_QUERY where the fields cannot be indexed or a limit is reached. */
    add: rpc(`${service}.addFieldIndex`, named, z.object({})),
    list: rpc(`${service}.listFieldIndexes`, z.object({ appId }), z.object({ indexes: z.array(fieldIndex) })),
    remove: rpc(`${service}.removeFieldIndex`, named, z.object({})),
    /** The slow queries of the last day, ordered by total time, longest first. */
    listSlowQueries: rpc(
      `${service}.listSlowQueries`,
      z.object({ appId }),
      z.object({ questions: z.array(slowQuestion) }),
    ),
  };
}

export const accountsIndexesRpc = fieldIndexesRpc('accounts');
export const pushIndexesRpc = fieldIndexesRpc('push-delivery');
export type FieldIndexesRpc = typeof accountsIndexesRpc;
