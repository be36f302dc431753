import { z } from 'zod';
import { caller } from './caller.schema.js';
import { jsonObject } from './json.schema.js';
import {
  MAX_SAVED_OBJECTS,
  objectId,
  objectListQuery,
  objectReadOptions,
  objectRemoval,
  objectWriteOptions,
} from './objects.contract.js';
import { isObjectId } from './object-id.js';
import { principal } from './principal.schema.js';
import { rpc } from './rpc.js';

/** Who asks about installations: push-delivery knows no users, so the gateway has accounts resolve the session first. */
const asked = z.object({ caller, principal });

/** Under it an installation may be made: a client chooses it. */
const chosenId = objectId.refine(isObjectId);

/** One write among those of `POST /1.1/batch/save`. */
const installationWrite = objectWriteOptions.extend({
  internalId: z.string().min(1).max(128),
  /** Absent: a registration, which may find that the installation is there already. */
  objectId: chosenId.optional(),
  fields: jsonObject,
});

export type InstallationWrite = z.output<typeof installationWrite>;

/** What is asked about the class `_Installation`. */
export const installationsRpc = {
  /** Makes the installation, or changes the one with the same `installationId` or device token: SDKs register again and again. */
  register: rpc(
    'push-delivery.registerInstallation',
    asked.extend({ fields: jsonObject, returnNew: z.boolean() }),
    z.object({ objectId, isNew: z.boolean(), result: jsonObject }),
  ),
  /** `installation` is null where there is none, or where the caller may not see it. */
  get: rpc(
    'push-delivery.getInstallation',
    objectReadOptions.extend(asked.shape).extend({ objectId }),
    z.object({ installation: jsonObject.nullable() }),
  ),
  find: rpc(
    'push-delivery.findInstallations',
    objectListQuery.extend(asked.shape),
    z.object({ results: z.array(jsonObject), count: z.number().int().optional() }),
  ),
  /** Where no installation has the id, a named device is registered under it. Fails with NOT_FOUND where none is named. */
  update: rpc(
    'push-delivery.updateInstallation',
    objectWriteOptions.extend(asked.shape).extend({ objectId: chosenId, changes: jsonObject }),
    z.object({ result: jsonObject }),
  ),
  remove: rpc('push-delivery.removeInstallations', objectRemoval.extend({ principal }), z.object({})),
  /** All of them, or none. */
  saveAll: rpc(
    'push-delivery.saveInstallations',
    asked.extend({ writes: z.array(installationWrite).min(1).max(MAX_SAVED_OBJECTS) }),
    z.object({ results: z.array(z.object({ internalId: z.string(), result: jsonObject })) }),
  ),
};
