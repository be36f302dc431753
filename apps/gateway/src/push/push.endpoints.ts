import { z } from 'zod';
import { deliveryCounts, NOTIFICATION_STATUSES, PUSH_LIMITS, vendorCounts } from '#contracts';
import type { ErrorName } from '#errors';
import { objectIdSchema as objectId } from '#objects';
import { CONDITION_ERRORS, listOf, listParams, timestamp } from '../objects/object.endpoints.js';
import { describeEndpoints, named } from '../openapi/endpoint.decorator.js';

const shortName = z.string().regex(/^[A-Za-z0-9]{1,16}$/);
const count = z.int().min(0);

const pushOptions = z.looseObject({
  data: z
    .looseObject({
      alert: z.unknown().optional(),
      title: z.string().optional(),
      silent: z.boolean().optional(),
      action: z.string().optional(),
    })
    .describe('The message. A member such as `android` or `ios` overrides the other members for that platform.'),
  push_time: timestamp.optional().describe('The time to send it. A time less than a minute ahead means now.'),
  expiration_time: timestamp
    .optional()
    .describe('No device receives it after this time. The default is a week after it is sent.'),
  expiration_interval: z
    .number()
    .min(1)
    .optional()
    .describe('The same, in seconds after it is sent; a fraction is cut off. Use one of the two.'),
  req_id: shortName
    .optional()
    .describe('A second request with the same value within five minutes gets the response of the first.'),
  notification_id: shortName.optional().describe('A name that you choose.'),
  flow_control: z
    .number()
    .max(PUSH_LIMITS.mostFlow)
    .optional()
    .describe(
      `Devices per second. Any number below ${PUSH_LIMITS.leastFlow}, including 0, means ${PUSH_LIMITS.leastFlow}.`,
    ),
  prod: z
    .enum(['dev', 'prod'])
    .optional()
    .describe(
      'The environment of Apple devices. The default is `dev` where `X-LC-Prod` has a value other than 1, else `prod`.',
    ),
  _notificationChannel: z
    .string()
    .optional()
    .describe('The notification channel of Android; also accepted within `data`.'),
});

const push = named(
  'Push',
  pushOptions
    .extend({
      where: z.looseObject({}).optional().describe('The installations to send it to.'),
      channels: z
        .union([z.string(), z.array(z.string()).min(1)])
        .optional()
        .describe(
          'Installations with one of these channels. With `where`, both conditions apply. Without either, all installations.',
        ),
    })
    .describe(`A push of less than ${PUSH_LIMITS.bytes + 1} bytes.`),
);

const pushToDevices = named(
  'PushToDevices',
  pushOptions
    .extend({
      device_type: z.string().describe('`android`, `ios` or another `deviceType`.'),
      device_ids: z
        .array(z.string().min(1))
        .min(1)
        .max(PUSH_LIMITS.deviceIds)
        .describe('Installation ids; device tokens if the type is `ios`; registration ids if there is a `vendor`.'),
      vendor: z.string().optional(),
    })
    .describe(`A push of less than ${PUSH_LIMITS.bytes + 1} bytes, not counting \`device_ids\`.`),
);

const deliveries = deliveryCounts
  .extend({
    vendor: deliveryCounts.shape.vendor.describe('Taken by channels of vendors; absent where there are none.'),
  })
  .describe('`targeted` is the sum of the others; devices have acknowledged the `delivered` ones.');

const vendors = vendorCounts
  .extend({
    paused: vendorCounts.shape.paused.describe(
      'Waiting devices whose channel the operator has paused; absent where there are none.',
    ),
    reasons: vendorCounts.shape.reasons.describe('Devices by reason.'),
  })
  .describe('`targeted` is the sum of the others but `paused`; the vendor has taken the `accepted` ones.');

const VENDOR_SUCCESSES = ['ios', 'fcm', 'hms', 'honor', 'mi', 'oppo', 'vivo', 'meizu', 'web'].map(
  (name) => `${name}Successes`,
);

const notification = named(
  'Notification',
  z
    .object({
      objectId,
      createdAt: timestamp,
      updatedAt: timestamp,
      notificationId: z.string().optional(),
      status: z
        .enum(NOTIFICATION_STATUSES)
        .describe('`done`: it is delivered to every target device, or waits in its queue.'),
      msg: z.looseObject({}).describe('The `data` of the request.'),
      where: z.looseObject({}).optional().describe('The target query. For the master key only.'),
      prod: z.enum(['dev', 'prod']),
      'from-service': z.literal('push'),
      'push-time': timestamp,
      'expiration-time': timestamp,
      devices: count.describe('The number of target devices.'),
      successes: count.describe('The number of devices that have acknowledged it, or whose vendor has taken it.'),
      invalidTokens: count.describe('Devices whose vendor reports a dead token.'),
      errors: z.string().nullable().describe('The reason for the status `error`, or why vendors did not take it.'),
      platforms: z.record(z.string(), deliveries).describe('By `deviceType`.'),
      lcSuccesses: count.describe(
        'Acknowledged over WebSocket. This and the following only where a vendor takes part.',
      ),
      ...Object.fromEntries(VENDOR_SUCCESSES.map((name) => [name, count.describe('Taken by the vendor.')])),
      vendors: z.record(z.string(), vendors).describe('By vendor.'),
    })
    .partial()
    .describe('The record of a push. `keys` can omit fields.'),
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
  .describe('A scheduled push.');

const accepted = {
  200: {
    description: 'The push is stored and will be sent.',
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
/** To accept a push needs no query of the database. A query of pushes refuses sub-queries, whatever class they name. */
const WHERE_ERRORS = CONDITION_ERRORS.filter((name) => name !== 'QUERY_TIMED_OUT' && name !== 'NOT_FOUND');

export const pushEndpoints = describeEndpoints('Push', {
  send: {
    summary: 'Send a push',
    description:
      'For the master key; with the application key only if the setting `allowClientPush` is on. Installations that are not `valid`, or were not saved for 90 days, do not receive it.',
    credentials: 'application',
    body: push,
    answers: accepted,
    errors: [...PUSH_ERRORS, ...WHERE_ERRORS, 'NOT_FOUND', 'INVALID_CHANNEL', 'NOT_SUPPORTED'],
  },
  sendToDevices: {
    summary: 'Send a push to devices by their ids',
    credentials: 'application',
    body: pushToDevices,
    answers: accepted,
    errors: PUSH_ERRORS,
  },
});

export const webPushEndpoints = describeEndpoints('Push', {
  key: {
    summary: 'Get the public key for subscriptions of browsers',
    description: 'The `applicationServerKey` of `PushManager.subscribe`. Save the subscription in the field `webPush`.',
    credentials: 'application',
    answers: { 200: { description: 'The key, base64url.', body: z.object({ publicKey: z.string() }) } },
    errors: ['NOT_FOUND'],
  },
});

export const notificationsEndpoints = describeEndpoints('Push', {
  list: {
    summary: 'Query pushes',
    description:
      'The newest first. Records are kept for a week after the push was sent. Query parts of the message as `msg.alert`.',
    credentials: 'master key',
    query: listParams.omit({ include: true, returnACL: true }),
    answers: { 200: { description: 'The pushes found.', body: listOf(notification) } },
    errors: [...WHERE_ERRORS, 'INCORRECT_TYPE', 'QUERY_TIMED_OUT', 'OBJECT_TOO_LARGE', 'FORBIDDEN'],
  },
  get: {
    summary: 'Get the record of a push',
    credentials: 'application',
    answers: { 200: { description: 'The push.', body: notification } },
    errors: ['NOT_FOUND'],
  },
  remove: {
    summary: 'Delete a push',
    description: 'Stops a push that is not done yet. Devices that have received it keep it.',
    credentials: 'master key',
    answers: done,
    errors: ['FORBIDDEN', 'NOT_FOUND'],
  },
});

export const scheduledPushesEndpoints = describeEndpoints('Push', {
  list: {
    summary: 'List scheduled pushes',
    credentials: 'master key',
    query: listParams.pick({ limit: true, skip: true }),
    answers: {
      200: {
        description: 'The scheduled pushes, in the order of acceptance.',
        body: z.object({ results: z.array(scheduled) }),
      },
    },
    errors: ['INVALID_QUERY', 'FORBIDDEN'],
  },
  get: {
    summary: 'Get a scheduled push',
    credentials: 'master key',
    answers: { 200: { description: 'The push.', body: scheduled } },
    errors: ['FORBIDDEN', 'NOT_FOUND'],
  },
  cancel: {
    summary: 'Cancel a scheduled push',
    credentials: 'master key',
    answers: done,
    errors: ['FORBIDDEN', 'NOT_FOUND'],
  },
});
