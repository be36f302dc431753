import { z } from 'zod';
import { caller } from './caller.schema.js';
import { jsonObject } from './json.schema.js';
import { objectId, objectReadOptions, objectRemoval, objectWriteOptions } from './objects.contract.js';
import { rpc } from './rpc.js';

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
