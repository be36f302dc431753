import { z } from 'zod';
import { caller } from './caller.schema.js';
import { jsonObject } from './json.schema.js';
import { PASSWORD_TIMEOUT_MS, rpc } from './message-kinds.js';
import { identityChanges } from './user.schema.js';

export const MAX_LIST_LIMIT = 1000;
export const MAX_LIST_SKIP = 1_000_000_000;
/** Maximum number of ids in one deletion. */
export const MAX_REMOVED_OBJECTS = 200;
/** Maximum number of writes in one `POST /1.1/batch/save`. */
export const MAX_SAVED_OBJECTS = 100;

/** The classes whose objects accounts stores. */
const storedClassName = z.enum(['_User', '_Role']);

export const objectId = z.string().min(1).max(64);
/** The parameter `keys`, split at its commas. */
const keys = z.array(z.string().max(256)).max(100).optional();
/** The parameter `include` as sent. */
const include = z.string().max(1024).optional();
/** The parameter `where` as parsed JSON; the service that runs the query validates it. */
const where = z.unknown().optional();

/** The parameters of a query. */
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

/** The options for reading one object. */
export const objectReadOptions = z.object({ keys, include, returnAcl: z.boolean() });

export type ObjectReadOptions = z.output<typeof objectReadOptions>;

/**
 * The options for changing one object. `where`: change the object only if it matches. `returnNew`: include the changed fields in the
 * response.
 */
export const objectWriteOptions = z.object({ returnNew: z.boolean(), where });

export type ObjectWriteOptions = z.output<typeof objectWriteOptions>;

/** Removes all given objects or none. `where`: remove only objects that match. */
export const objectRemoval = z.object({ caller, objectIds: z.array(objectId).min(1).max(MAX_REMOVED_OBJECTS), where });

/** One write of `POST /1.1/batch/save`. */
const objectWrite = objectWriteOptions.extend({
  className: storedClassName,
  /** Identifies the object within request and response. The client generates it for a new object. */
  internalId: z.string().min(1).max(128),
  /** Absent: the object is new. */
  objectId: objectId.optional(),
  fields: jsonObject,
  /** For a user: identities that auth-linking has proven. */
  identities: identityChanges.optional(),
  /** Fields to be set to pointers to other objects of the same request, addressed by internal id. */
  children: z
    .array(z.object({ className: z.string().max(128), cid: z.string().max(128), key: z.string().max(256) }))
    .max(100),
});

export type ObjectWrite = z.output<typeof objectWrite>;

/** RPCs that every class has. */
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
  /** `role` is null where the role does not exist, or where the caller cannot read it. */
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
