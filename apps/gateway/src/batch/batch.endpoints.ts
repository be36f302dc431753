import { z } from 'zod';
import { MAX_SAVED_OBJECTS } from '#contracts';
import type { ErrorName } from '#errors';
import { LOGIN_ERRORS, usersEndpoints } from '../accounts/users.endpoints.js';
import { installationsEndpoints, rolesEndpoints } from '../objects/class-routes.js';
import { describeEndpoints } from '../openapi/endpoint.decorator.js';
import { MAX_BATCH_REQUESTS } from './batch-run.js';
import { MAX_INTERNAL_ID_LENGTH } from './batch-save.js';

const entry = z
  .looseObject({
    method: z.enum(['GET', 'POST', 'PUT', 'DELETE']),
    path: z
      .string()
      .startsWith('/1.1/')
      .describe('The path of the URL, beginning with `/1.1/`, with an optional query.'),
    params: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('Parameters of the URL; values other than strings are sent as JSON.'),
    body: z.record(z.string(), z.unknown()).optional(),
  })
  .describe('One request of the batch.');

const entryResponse = z
  .union([
    z.object({ success: z.unknown() }).describe('The body of the response.'),
    z.object({ error: z.object({ code: z.int(), error: z.string() }) }).describe('The error of the request.'),
  ])
  .describe('The response to one request.');

const write = z
  .looseObject({
    method: z.enum(['POST', 'PUT']),
    path: z
      .string()
      .describe(
        '`/1.1/users`, `/1.1/roles`, `/1.1/installations`, or their paths below `/1.1/classes`; with the id if the method is PUT.',
      ),
    params: z.record(z.string(), z.unknown()).optional().describe('Parameters of the write, such as `fetchWhenSave`.'),
    new: z.boolean().optional().describe('The same as the parameter `new`.'),
    body: z
      .looseObject({
        __internalId: z
          .string()
          .max(MAX_INTERNAL_ID_LENGTH)
          .optional()
          .describe('The key of the result: the id, or the temporary id of a new object.'),
        __children: z
          .array(z.looseObject({ className: z.string(), cid: z.string(), key: z.string() }))
          .optional()
          .describe('Fields (`key`) to set to Pointers to other objects of the request (`cid`).'),
      })
      .describe('The fields to save; any other member is a field.'),
  })
  .describe('A new object, or a change of one.');

/** The endpoints whose requests `batch/save` accepts. */
const SAVING_ENDPOINTS = [
  usersEndpoints.signUp,
  usersEndpoints.update,
  rolesEndpoints.create,
  rolesEndpoints.update,
  installationsEndpoints.create,
  installationsEndpoints.update,
];

/** Their errors, without those of a login: a batch save cannot log in. */
const savingErrors = SAVING_ENDPOINTS.flatMap(({ errors }) => errors).filter(
  (name) => !(LOGIN_ERRORS as readonly ErrorName[]).includes(name),
);

export const batchEndpoints = describeEndpoints('Batch', {
  run: {
    summary: 'Send several requests at once',
    description:
      'The requests run one after the other, each like a single request with the headers of the batch. A failed request does not stop the others. A batch cannot contain another batch (code 1).',
    credentials: 'application',
    body: z.looseObject({ requests: z.array(entry).max(MAX_BATCH_REQUESTS) }),
    answers: { 200: { description: 'The responses, in the order of the requests.', body: z.array(entryResponse) } },
    errors: [],
  },
  save: {
    summary: 'Save several objects, all or none',
    description:
      'If a write fails, the response is its error, and nothing is changed. Several changes of one object are applied in their order. Installations cannot be saved together with other objects.',
    credentials: 'application',
    body: z.looseObject({ requests: z.array(write).max(MAX_SAVED_OBJECTS) }),
    answers: {
      200: {
        description: 'The result of each write, by `__internalId`.',
        body: z.record(z.string(), z.record(z.string(), z.unknown())),
      },
    },
    errors: [...new Set(['NOT_SUPPORTED' as const, ...savingErrors])],
  },
});
