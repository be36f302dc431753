import { z } from 'zod';
import type { ErrorName } from '#errors';

import {
  acl,
  CONDITION_ERRORS,
  listOf,
  listParams,
  objectId,
  readParams,
  removeParams,
  timestamp,
  writeParams,
} from '../objects/object.endpoints.js';
import { describeEndpoints } from '../openapi/endpoint.decorator.js';

const installationId = z
  .string()
  .min(1)
  .max(128)
  .describe('A unique name that the device chooses. It is a secret of the device.');
const deviceType = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_-]{0,31}$/)
  .describe('`ios`, `android`, `web`, or a name that you choose.');
const deviceToken = z.string().min(1).max(1024).describe('The token of a push provider. Unique for the `deviceType`.');
const valid = z.boolean().describe('Installations that are not valid receive no push. The default is `true`.');
const channels = z
  .array(z.string())
  .describe('Channel names of letters, digits, `_`, `-`, `=` and Chinese characters.');
const channelChange = z.union([
  channels,
  z.looseObject({ __op: z.enum(['Add', 'AddUnique', 'Remove', 'Delete', 'Batch']) }),
]);

const installation = z
  .looseObject({
    objectId,
    createdAt: timestamp,
    updatedAt: timestamp,
    installationId: installationId.optional(),
    deviceType: deviceType.optional(),
    deviceToken: deviceToken.optional(),
    valid: valid.optional(),
    channels: channels.optional(),
    ACL: acl.optional(),
  })
  .describe('An app on a device; any other member is a custom field.');

const writableFields = z
  .looseObject({
    installationId: installationId.nullable().optional(),
    deviceType: deviceType.nullable().optional(),
    deviceToken: deviceToken.nullable().optional(),
    valid: valid.optional(),
    channels: channelChange.optional(),
    ACL: acl.optional(),
  })
  .describe('The fields to change; any other member is a custom field.');

/** The errors of the fields of an installation. */
const FIELD_ERRORS = [
  'INVALID_KEY_NAME',
  'MALFORMED_POINTER',
  'INCORRECT_TYPE',
  'INVALID_CHANNEL',
  'KEY_REQUIRED',
  'INVALID_DEVICE_TOKEN',
  'OBJECT_TOO_LARGE',
  'READ_ONLY_KEY',
  'INVALID_NESTED_KEY',
  'INVALID_ACL',
  'INVALID_RELATION',
] as const satisfies ErrorName[];

export const installationsEndpoints = describeEndpoints('Installations', {
  register: {
    summary: 'Register an installation',
    description:
      'Apps send it at every start. It updates the installation with the same `installationId`, or else with the same `deviceToken` and `deviceType`. If two objects belong to one device, the one with the `installationId` stays.',
    credentials: 'application',
    query: writeParams.omit({ where: true }),
    body: writableFields.extend({
      objectId: objectId.optional().describe('The id of the installation, if the app knows it.'),
    }),
    answers: {
      200: {
        description: 'The installation existed: its id and times.',
        body: z.looseObject({ objectId, createdAt: timestamp, updatedAt: timestamp }),
        headers: { Location: 'The absolute URL of the installation.' },
      },
      201: {
        description: 'The installation is new: its id and time, or the whole installation with `fetchWhenSave`.',
        body: z.looseObject({ objectId, createdAt: timestamp }),
        headers: { Location: 'The absolute URL of the installation.' },
      },
    },
    errors: [...FIELD_ERRORS, 'FORBIDDEN'],
  },
  list: {
    summary: 'Query installations',
    description:
      'For the master key, unless the class permission allows others: a caller that knows the `installationId` of a device can read its messages.',
    credentials: 'application',
    query: listParams.omit({ include: true }),
    answers: { 200: { description: 'The matching installations.', body: listOf(installation) } },
    errors: [...CONDITION_ERRORS, 'INCORRECT_TYPE', 'OBJECT_TOO_LARGE', 'FORBIDDEN'],
  },
  get: {
    summary: 'Get an installation',
    credentials: 'application',
    query: readParams.omit({ include: true }),
    answers: {
      200: {
        description: 'The installation; `{}` if it does not exist or its ACL hides it.',
        body: installation.partial(),
      },
    },
    errors: ['INVALID_QUERY', 'INCORRECT_TYPE', 'NOT_FOUND', 'FORBIDDEN'],
  },
  update: {
    summary: 'Change an installation',
    description:
      'If no installation has the id, and the body contains an `installationId` or a `deviceToken`, the device is registered: its existing installation is updated, or a new one gets this id. The response contains the id of that installation.',
    credentials: 'application',
    query: writeParams,
    body: writableFields,
    answers: {
      200: { description: 'The time of the change.', body: z.looseObject({ objectId, updatedAt: timestamp }) },
    },
    errors: [...new Set([...FIELD_ERRORS, ...CONDITION_ERRORS]), 'NO_EFFECT', 'FORBIDDEN'],
  },
  remove: {
    summary: 'Delete installations',
    description:
      'For the master key, unless the class permission allows others. Several ids are separated by commas: all are deleted, or none. Waiting messages of the devices are deleted.',
    credentials: 'application',
    query: removeParams,
    answers: { 200: { description: 'Done.', body: z.object({}) } },
    errors: [...CONDITION_ERRORS, 'NO_EFFECT', 'FORBIDDEN'],
  },
});
