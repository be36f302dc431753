import { z } from 'zod';
import type { ErrorName } from '#errors';
import { rolesEndpoints } from '../accounts/roles.endpoints.js';
import { LOGIN_ERRORS, usersEndpoints } from '../accounts/users.endpoints.js';
import { describeEndpoints } from '../openapi/endpoint.decorator.js';
import { installationsEndpoints } from '../push/installations.endpoints.js';

const entry = z
  .looseObject({
    method: z.enum(['GET', 'POST', 'PUT', 'DELETE']),
    path: z.string().startsWith('/1.1/').describe('As in the URL, from `/1.1/` on; it may have a query.'),
    params: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('Parameters of the URL; what is no text is sent as JSON.'),
    body: z.record(z.string(), z.unknown()).optional(),
  })
  .describe('A request as it would be sent alone.');

const entryAnswer = z
  .union([
    z.object({ success: z.unknown() }).describe('The body of its answer.'),
    z.object({ error: z.object({ code: z.int(), error: z.string() }) }).describe('The error that it was answered.'),
  ])
  .describe('What one request was answered.');

const write = z
  .looseObject({
    method: z.enum(['POST', 'PUT']),
    path: z
      .string()
      .describe(
        '`/1.1/users`, `/1.1/roles`, `/1.1/installations`, or their paths below `/1.1/classes`; with the id where the method is PUT.',
      ),
    params: z.record(z.string(), z.unknown()).optional().describe('Parameters of the write, such as `fetchWhenSave`.'),
    new: z.boolean().optional().describe('The same as the parameter `new`.'),
    body: z
      .looseObject({
        __internalId: z
          .string()
          .max(128)
          .optional()
          .describe('The key of the answer: the id, or what the client calls the new object.'),
        __children: z
          .array(z.looseObject({ className: z.string(), cid: z.string(), key: z.string() }))
          .optional()
          .describe('Fields (`key`) that become Pointers to other objects of the request (`cid`).'),
      })
      .describe('The fields to save; any other member is a field.'),
  })
  .describe('A new object, or a change of one.');

/** Whose requests `batch/save` takes together. */
const SAVING_ENDPOINTS = [
  usersEndpoints.signUp,
  usersEndpoints.update,
  rolesEndpoints.create,
  rolesEndpoints.update,
  installationsEndpoints.register,
  installationsEndpoints.update,
];

/** What they can be refused for; but a joint save logs nobody in. */
const savingErrors = SAVING_ENDPOINTS.flatMap(({ errors }) => errors).filter(
  (name) => !(LOGIN_ERRORS as readonly ErrorName[]).includes(name),
);

export const batchEndpoints = describeEndpoints('Batch', {
  run: {
    summary: 'Send several requests at once',
    description:
      'They are run one after the other, with the headers of the batch, and each as if it had been sent alone: one that fails stops none of the others. A batch within a batch is refused with code 1.',
    credentials: 'application',
    body: z.looseObject({ requests: z.array(entry).max(100) }),
    answers: { 200: { description: 'Their answers, in their order.', body: z.array(entryAnswer) } },
    errors: [],
  },
  save: {
    summary: 'Save several objects, all or none',
    description:
      'The first write that cannot be done is answered as if it had been sent alone, and nothing is changed. Several changes of one object are made in their order. Installations are saved with installations only.',
    credentials: 'application',
    body: z.looseObject({ requests: z.array(write).max(100) }),
    answers: {
      200: {
        description: 'What each write would have been answered alone, by `__internalId`.',
        body: z.record(z.string(), z.record(z.string(), z.unknown())),
      },
    },
    errors: [...new Set(['NOT_SUPPORTED' as const, ...savingErrors])],
  },
});
