import { z } from 'zod';
import type { ErrorName } from '#errors';

import { CONDITION_ERRORS, listOf, listParams, objectId, timestamp } from '../objects/object.endpoints.js';
import { describeEndpoints, named } from '../openapi/endpoint.decorator.js';

const shortName = z.string().regex(/^[A-Za-z0-9]{1,16}$/);
const count = z.int().min(0);

/** What both ways of sending take. */
const pushOptions = z.looseObject({
  data: z
    .looseObject({
      alert: z.unknown().optional(),
      title: z.string().optional(),
      silent: z.boolean().optional(),
      action: z.string().optional(),
    })
    .describe(
      'The message. A block such as `android` or `ios` is for that platform alone, over what stands beside it.',
    ),
  push_time: timestamp.optional().describe('When to send it. Less than a minute ahead: at once.'),
  expiration_time: timestamp.optional().describe('No device gets it later. A week after it is sent unless given.'),
  expiration_interval: z.int().optional().describe('The same in seconds from when it is sent. Not both.'),
  req_id: shortName.optional().describe('A second request with it within five minutes is answered as the first.'),
  notification_id: shortName.optional().describe('A name of your own.'),
  flow_control: z
    .number()
    .max(1_000_000_000)
    .optional()
    .describe('Devices a second; any number below 1000, 0 included, counts as 1000.'),
  prod: z.enum(['dev', 'prod']).optional().describe('Kept in the record. By `X-LC-Prod` unless given.'),
  _notificationChannel: z.string().optional().describe('The channel by which Android shows it; also within `data`.'),
});

const push = named(
  'Push',
  pushOptions
    .extend({
      where: z.looseObject({}).optional().describe('Which installations it is for.'),
      channels: z
        .union([z.string(), z.array(z.string()).min(1)])
        .optional()
        .describe('Those that have one of these channels; with `where`, both must hold. Neither: all.'),
    })
    .describe('A push of less than 4096 bytes.'),
);

const pushToDevices = named(
  'PushToDevices',
  pushOptions
    .extend({
      device_type: z.string().describe('`android`, `ios` or another `deviceType`.'),
      device_ids: z
        .array(z.string().min(1))
        .min(1)
        .max(500)
        .describe('Installation ids; device tokens where the type is `ios`; with `vendor`, registration ids.'),
      vendor: z.string().optional(),
    })
    .describe('A push of less than 4096 bytes, `device_ids` aside.'),
);

const deliveries = z
  .object({ targeted: count, delivered: count, queued: count, expired: count, overflowed: count, unreachable: count })
  .describe('`targeted` is the sum of the others; `delivered` were acknowledged by their devices.');

const notification = named(
  'Notification',
  z
    .object({
      objectId,
      createdAt: timestamp,
      updatedAt: timestamp,
      notificationId: z.string().optional(),
      status: z
        .enum(['scheduled', 'in-queue', 'done', 'error'])
        .describe('`done`: every device that it is for has it, or has it waiting.'),
      msg: z.looseObject({}).describe('The `data` of the request.'),
      where: z.looseObject({}).optional().describe('Whom it is for. For the master key only.'),
      prod: z.enum(['dev', 'prod']),
      'from-service': z.literal('push'),
      'push-time': timestamp,
      'expiration-time': timestamp,
      devices: count.describe('How many devices it is for.'),
      successes: count.describe('How many have acknowledged it.'),
      invalidTokens: count,
      errors: z.string().nullable().describe('Why the status is `error`.'),
      platforms: z.record(z.string(), deliveries).describe('By `deviceType`.'),
    })
    .partial()
    .describe('A push and what became of it. `keys` can leave fields out.'),
);

const scheduled = z
  .object({
    id: z.int(),
    createdAt: timestamp,
    push_time: timestamp,
    expire_time: z.int().describe('Milliseconds since 1970.'),
    push_msg: z.object({
      id: objectId,
      notificationId: z.string().optional(),
      'app-id': z.string(),
      'api-version': z.literal('1.1'),
      prod: z.enum(['dev', 'prod']),
      where: z.object({ query: z.looseObject({}) }),
      msg: z.looseObject({}),
    }),
  })
  .describe('A push that waits for its time.');

const accepted = {
  200: {
    description: 'The push is safe; it is sent, whatever happens.',
    body: z.object({ objectId, createdAt: timestamp }),
  },
};
const done = { 200: { description: 'Done.', body: z.object({}) } };

const PUSH_ERRORS = [
  'KEY_REQUIRED',
  'INCORRECT_TYPE',
  'OBJECT_TOO_LARGE',
  'CLIENT_PUSH_OFF',
] as const satisfies ErrorName[];
/** A push asks nothing of the database, and pushes know no classes. */
const WHERE_ERRORS = CONDITION_ERRORS.filter((name) => name !== 'QUERY_TIMED_OUT' && name !== 'NOT_FOUND');

export const pushEndpoints = describeEndpoints('Push', {
  send: {
    summary: 'Send a push',
    description:
      'For the master key; with the application key only where the setting `allowClientPush` is on. Installations that are not `valid`, or were not saved for 90 days, are left out.',
    credentials: 'application',
    body: push,
    answers: accepted,
    errors: [...PUSH_ERRORS, ...WHERE_ERRORS, 'INVALID_CHANNEL', 'NOT_SUPPORTED'],
  },
  sendToDevices: {
    summary: 'Send a push to devices by their ids',
    credentials: 'application',
    body: pushToDevices,
    answers: accepted,
    errors: PUSH_ERRORS,
  },
});

export const notificationsEndpoints = describeEndpoints('Push', {
  list: {
    summary: 'Query pushes',
    description:
      'The newest first. They are remembered for a week after they were sent. Parts of the message are queried as `msg.alert`.',
    credentials: 'master key',
    query: listParams.omit({ include: true, returnACL: true }),
    answers: { 200: { description: 'The pushes found.', body: listOf(notification) } },
    errors: [...WHERE_ERRORS, 'INCORRECT_TYPE', 'QUERY_TIMED_OUT', 'OBJECT_TOO_LARGE', 'FORBIDDEN'],
  },
  get: {
    summary: 'Get a push, and what became of it',
    credentials: 'application',
    answers: { 200: { description: 'The push.', body: notification } },
    errors: ['NOT_FOUND'],
  },
  remove: {
    summary: 'Delete a push',
    description: 'Where it is not done yet it goes no further; devices that have it already keep it.',
    credentials: 'master key',
    answers: done,
    errors: ['FORBIDDEN', 'NOT_FOUND'],
  },
});

export const scheduledPushesEndpoints = describeEndpoints('Push', {
  list: {
    summary: 'List pushes that wait for their time',
    credentials: 'master key',
    query: listParams.pick({ limit: true, skip: true }),
    answers: {
      200: {
        description: 'In the order in which they were accepted.',
        body: z.object({ results: z.array(scheduled) }),
      },
    },
    errors: ['INVALID_QUERY', 'FORBIDDEN'],
  },
  get: {
    summary: 'Get a push that waits for its time',
    credentials: 'master key',
    answers: { 200: { description: 'The push.', body: scheduled } },
    errors: ['FORBIDDEN', 'NOT_FOUND'],
  },
  cancel: {
    summary: 'Cancel a push that waits for its time',
    credentials: 'master key',
    answers: done,
    errors: ['FORBIDDEN', 'NOT_FOUND'],
  },
});
