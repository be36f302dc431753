import { z } from 'zod';
import { appId } from './application.schema.js';
import { caller } from './caller.schema.js';
import { jsonObject } from './json.schema.js';
import { objectId, objectListQuery } from './objects.contract.js';
import { rpc } from './rpc.js';

/** Where a push stands (`docs/decisions.md`). `done`: every targeted device was reached, or has it in its queue. */
export const NOTIFICATION_STATUSES = ['scheduled', 'in-queue', 'done', 'error'] as const;

const count = z.number().int().min(0);

/** What became of one push on one platform. targeted = delivered + queued + expired + overflowed + unreachable. */
export const deliveryCounts = z.object({
  targeted: count,
  /** Acknowledged by the device. */
  delivered: count,
  queued: count,
  expired: count,
  /** Dropped because the device's queue was full. */
  overflowed: count,
  /** Of devices that no way of delivery leads to. */
  unreachable: count,
});

export type DeliveryCounts = z.output<typeof deliveryCounts>;

/** What `scheduledPushMessages` calls a push. */
const scheduledNumber = z.number().int().min(1);
const accepted = z.object({ objectId, createdAt: z.iso.datetime() });
const pushRequest = z.object({
  caller,
  body: jsonObject,
  /** What `prod` is where the body does not say: the header X-LC-Prod. */
  prod: z.enum(['dev', 'prod']),
});

/** Pushes, as applications ask for them. */
export const pushRpc = {
  /** Answers once the push is safe. */
  send: rpc('push-delivery.sendPush', pushRequest, accepted),
  sendToDevices: rpc('push-delivery.sendPushToDevices', pushRequest, accepted),
  /** Fails with NOT_FOUND. */
  getNotification: rpc(
    'push-delivery.getNotification',
    z.object({ caller, objectId }),
    z.object({ notification: jsonObject }),
  ),
  findNotifications: rpc(
    'push-delivery.findNotifications',
    objectListQuery.extend({ caller }),
    z.object({ results: z.array(jsonObject), count: count.optional() }),
  ),
  /** Stops a push that is not done yet, and forgets it. What waits in queues of devices stays there. */
  removeNotification: rpc('push-delivery.removeNotification', z.object({ caller, objectId }), z.object({})),
  findScheduled: rpc(
    'push-delivery.findScheduledPushes',
    objectListQuery.pick({ limit: true, skip: true }).extend({ caller }),
    z.object({ results: z.array(jsonObject) }),
  ),
  /** Fails with NOT_FOUND, also where it has begun. */
  getScheduled: rpc(
    'push-delivery.getScheduledPush',
    z.object({ caller, id: scheduledNumber }),
    z.object({ push: jsonObject }),
  ),
  /** Fails with NOT_FOUND, also where it has begun. */
  cancelScheduled: rpc('push-delivery.cancelScheduledPush', z.object({ caller, id: scheduledNumber }), z.object({})),
  /** The ports of the connectors that are there now, for installations without GATEPOST_PUSH_URL. */
  findConnectors: rpc('push-delivery.findConnectors', z.object({}), z.object({ ports: z.array(z.number().int()) })),
};

/** What operators ask about pushes, by the same ways as `applicationsRpc`. */
export const pushOperationsRpc = {
  send: rpc('push-delivery.sendPushAsOperator', z.object({ appId, body: jsonObject }), accepted),
  /** Fails with NOT_FOUND. */
  status: rpc(
    'push-delivery.getPushStatus',
    z.object({ appId, objectId }),
    z.object({
      objectId,
      status: z.enum(NOTIFICATION_STATUSES),
      /** Why it is `error`. */
      error: z.string().nullable(),
      createdAt: z.iso.datetime(),
      expiresAt: z.iso.datetime(),
      platforms: z.record(z.string(), deliveryCounts),
    }),
  ),
  /** How many devices an application has, by platform: known, such as a push to all reaches, and connected now. */
  devices: rpc(
    'push-delivery.countDevices',
    z.object({ appId }),
    z.object({
      platforms: z.record(z.string(), z.object({ installations: count, targeted: count })),
      /** Sockets of this application's devices. */
      connected: count,
    }),
  ),
};
