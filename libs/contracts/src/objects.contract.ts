import { z } from 'zod';
import { caller } from './caller.schema.js';
import { jsonObject } from './json.schema.js';
import { PASSWORD_TIMEOUT_MS, rpc } from './message-kinds.js';
import { identityChanges } from './user.schema.js';

export const MAX_LIST_LIMIT = 1000;
export const MAX_LIST_SKIP = 1_000_000_000;
/** Ids that one deletion may name. */
export const MAX_REMOVED_OBJECTS = 200;
/** Writes that one `POST /1.1/batch/save` may hold. */
export const MAX_SAVED_OBJECTS = 100;

/** The classes whose objects accounts keeps. */
const storedClassName = z.enum(['_User', '_Role']);

export const objectId = z.string().min(1).max(64);
/** The parameter `keys`, split at its commas. */
const keys = z.array(z.string().max(256)).max(100).optional();
/** The parameter `include`, as it was sent. */
const include = z.string().max(1024).optional();
/** The parameter `where`, parsed from JSON and no further: its reader judges it. */
const where = z.unknown().optional();

/** What a query asks for. */
export const objectListQuery = z.object({
  where,
  order: z.string().max(1024).optional(),
  limit: z.number().int().min(0).max(MAX_LIST_LIMIT),
  skip: z.number().int().min(0).max(MAX_LIST_SKIP),
  keys,
  include,
  count: z.boolean(),
  returnAcl: z.boolean(),
});

export type ObjectListQuery = z.output<typeof objectListQuery>;

/** How one object is read. */
export const objectReadOptions = z.object({ keys, include, returnAcl: z.boolean() });

export type ObjectReadOptions = z.output<typeof objectReadOptions>;

/** How one object is changed: only where it meets `where`; with the changed fields in the answer where `returnNew` says so. */
export const objectWriteOptions = z.object({ returnNew: z.boolean(), where });

export type ObjectWriteOptions = z.output<typeof objectWriteOptions>;

/** Which objects are removed, all of them or none; only such as meet `where`. */
export const objectRemoval = z.object({ caller, objectIds: z.array(objectId).min(1).max(MAX_REMOVED_OBJECTS), where });

/** One write among those of `POST /1.1/batch/save`. */
const objectWrite = objectWriteOptions.extend({
  className: storedClassName,
  /** By this the request and its answer know the object. For a new one the client has made it up. */
  internalId: z.string().min(1).max(128),
  /** Absent: the object is new. */
  objectId: objectId.optional(),
  fields: jsonObject,
  /** Of a user: proven by auth-linking. */
  identities: identityChanges.optional(),
  /** Fields that shall point to other objects of the same request, known by their internal id. */
  children: z
    .array(z.object({ className: z.string().max(128), cid: z.string().max(128), key: z.string().max(256) }))
    .max(100),
});

export type ObjectWrite = z.output<typeof objectWrite>;

/** What is asked in the same way of every class. */
export const objectsRpc = {
  find: rpc(
    'accounts.findObjects',
    objectListQuery.extend({ caller, className: storedClassName }),
    z.object({ results: z.array(jsonObject), count: z.number().int().optional() }),
  ),
  saveAll: rpc(
    'accounts.saveAll',
    z.object({ caller, writes: z.array(objectWrite).min(1).max(MAX_SAVED_OBJECTS) }),
    z.object({ results: z.array(z.object({ internalId: z.string(), result: jsonObject })) }),
    PASSWORD_TIMEOUT_MS,
  ),
};

export const rolesRpc = {
  create: rpc(
    'accounts.createRole',
    z.object({ caller, fields: jsonObject, returnNew: z.boolean() }),
    z.object({ objectId, result: jsonObject }),
  ),
  /** `role` is null where there is none, or where the caller may not see it. */
  get: rpc(
    'accounts.getRole',
    objectReadOptions.extend({ caller, objectId }),
    z.object({ role: jsonObject.nullable() }),
  ),
  update: rpc(
    'accounts.updateRole',
    objectWriteOptions.extend({ caller, objectId, changes: jsonObject }),
    z.object({ result: jsonObject }),
  ),
  remove: rpc('accounts.removeRoles', objectRemoval, z.object({})),
};
