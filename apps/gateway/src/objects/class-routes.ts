import { z } from 'zod';
import { installationsRpc, objectsRpc } from '#contracts';
import { installationClass, objectIdSchema, requestSchema, roleClass } from '#objects';
import { acl, objectEndpoints, timestamp } from './object.endpoints.js';
import { objectsController } from './objects.controller.js';

export const rolesEndpoints = objectEndpoints(roleClass, {
  topic: 'Roles',
  singular: 'a role',
  plural: 'roles',
  fieldErrors: ['INVALID_ROLE_NAME', 'ROLE_ACL_REQUIRED'],
  createErrors: ['UNIQUE_FIELD_TAKEN'],
  descriptions: {
    list: 'The roles of a user: `where={"users":<Pointer>}`. The results omit roles that their ACL hides.',
    update: 'Write access by the ACL of the role includes its members.',
  },
});

/** Roles, under both paths that SDKs use. */
export const RolesController = objectsController({
  name: 'Roles',
  objectClass: roleClass,
  paths: ['1.1/roles', '1.1/classes/_Role'],
  contract: objectsRpc,
  endpoints: rolesEndpoints,
});

const MASTER_KEY_BY_DEFAULT = 'For the master key, unless the class permission allows others';
const location = { Location: 'The absolute URL of the installation.' };

export const installationsEndpoints = objectEndpoints(installationClass, {
  topic: 'Installations',
  singular: 'an installation',
  plural: 'installations',
  fieldErrors: ['INVALID_CHANNEL', 'KEY_REQUIRED', 'INVALID_DEVICE_TOKEN'],
  create: {
    summary: 'Register an installation',
    description:
      'Apps send it at every start. It updates the installation with the same `installationId`, else the one with the `objectId` of the body, else the one with the same `deviceToken` and `deviceType`. If two objects belong to one device, the one with the `installationId` stays.',
    body: requestSchema(installationClass, 'create', acl).extend({
      objectId: objectIdSchema.optional().describe('The id of the installation, if the app knows it.'),
    }),
    answers: {
      200: {
        description: 'The installation existed: its id and times.',
        body: z.looseObject({ objectId: objectIdSchema, createdAt: timestamp, updatedAt: timestamp }),
        headers: location,
      },
      201: {
        description: 'The installation is new: its id and time, or the whole installation with `fetchWhenSave`.',
        body: z.looseObject({ objectId: objectIdSchema, createdAt: timestamp }),
        headers: location,
      },
    },
  },
  descriptions: {
    list: `${MASTER_KEY_BY_DEFAULT}: a caller that knows the \`installationId\` of a device can read its messages.`,
    update:
      'If no installation has the id, and the body contains an `installationId` or a `deviceToken`, the device is registered: its existing installation is updated, or a new one gets this id. The response contains the id of that installation.',
    remove: `${MASTER_KEY_BY_DEFAULT}. Waiting messages of the devices are deleted.`,
  },
});

/** Installations, under both paths that SDKs use. */
export const InstallationsController = objectsController({
  name: 'Installations',
  objectClass: installationClass,
  paths: ['1.1/installations', '1.1/classes/_Installation'],
  contract: installationsRpc,
  needsPrincipal: true,
  endpoints: installationsEndpoints,
});
