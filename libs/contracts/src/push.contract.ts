import { z } from 'zod';
import { appId } from './application.schema.js';
import { caller, principal } from './caller.schema.js';
import { isObjectId, jsonObject } from './json.schema.js';
import { nodeMessage, rpc } from './message-kinds.js';
import {
  MAX_SAVED_OBJECTS,
  objectId,
  objectListQuery,
  objectReadOptions,
  objectRemoval,
  objectWriteOptions,
} from './objects.contract.js';

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

/** The name of a device as clients choose it; who knows it is the device. */
export const installationId = z.string().min(1).max(128);

/** One push as devices get it. */
export const pushMessage = z.object({
  /** The notification's object id: what devices know the message by, the same at every delivery. */
  id: z.string(),
  appId: z.string(),
  /** Grows with the order in which pushes were accepted. */
  order: z.number().int(),
  /** Milliseconds since 1970. */
  expiresAt: z.number().int(),
  /** JSON text of the body for each platform that has one of its own. */
  bodies: z.record(z.string(), z.string()),
  /** JSON text for all others. */
  body: z.string(),
});

export type PushMessage = z.output<typeof pushMessage>;

/** What dispatchers and connectors tell one connector. Only hints: whatever they say waits in the device's queue too. */
export const connectorMessages = {
  /** A message has come into the queues of devices that were connected there. */
  deliver: nodeMessage(
    'connector.deliver',
    z.object({
      message: pushMessage,
      /** Installation id and platform. */
      targets: z.array(z.tuple([installationId, z.string()])),
      /** It may have been told before: the connector asks the queue instead of sending at once. */
      isRepeated: z.boolean(),
    }),
  ),
  /** A device has logged in elsewhere: its older session ends. */
  evict: nodeMessage('connector.evict', z.object({ appId: z.string(), installationId, session: z.string() })),
};
