import { z } from 'zod';
import { appId, daysOfApp } from './application.schema.js';
import { caller, directMessage, jsonObject, rpc } from './messages.schema.js';
import { objectId, objectListQuery } from './objects.contract.js';

/** Status of a push (docs/api.md). `done`: every targeted device has received the push, or has it in its queue. */
export const NOTIFICATION_STATUSES = ['scheduled', 'in-queue', 'done', 'error'] as const;

const count = z.number().int().min(0);

/** Results of one push on one platform. targeted = delivered + queued + expired + overflowed + unreachable + vendor. */
export const deliveryCounts = z.object({
  targeted: count,
  delivered: count,
  queued: count,
  expired: count,
  overflowed: count,
  /** Devices without a delivery channel. */
  unreachable: count,
  /** Devices that a vendor's channel takes (`vendorCounts`); absent where there are none. */
  vendor: count.optional(),
});

export type DeliveryCounts = z.output<typeof deliveryCounts>;

/** Results of one push in the channel of one vendor. targeted = accepted + invalid + rejected + expired + waiting. */
export const vendorCounts = z.object({
  targeted: count,
  accepted: count,
  invalid: count,
  rejected: count,
  expired: count,
  waiting: count,
  /** Those of them whose channel the operator has paused; absent where there are none. */
  paused: count.optional(),
  /** Number of devices by reason, those that took another channel included. */
  reasons: z.record(z.string(), count),
});

export type VendorCounts = z.output<typeof vendorCounts>;

const scheduledId = z.number().int().min(1);
const accepted = z.object({ objectId, createdAt: z.iso.datetime() });
const pushRequest = z.object({
  caller,
  body: jsonObject,
  /** Value of `prod` where the body has none: the header X-LC-Prod. */
  prod: z.enum(['dev', 'prod']),
});

export const pushRpc = {
  send: rpc('push-delivery.sendPush', pushRequest, accepted),
  sendToDevices: rpc('push-delivery.sendPushToDevices', pushRequest, accepted),
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
  /** Stops a push that is not done yet and deletes its record. Messages that are already in queues of devices stay there. */
  removeNotification: rpc('push-delivery.removeNotification', z.object({ caller, objectId }), z.object({})),
  findScheduled: rpc(
    'push-delivery.findScheduledPushes',
    objectListQuery.pick({ limit: true, skip: true }).extend({ caller }),
    z.object({ results: z.array(jsonObject) }),
  ),
  /** Fails with NOT_FOUND, also where the push has started. */
  getScheduled: rpc(
    'push-delivery.getScheduledPush',
    z.object({ caller, id: scheduledId }),
    z.object({ push: jsonObject }),
  ),
  cancelScheduled: rpc('push-delivery.cancelScheduledPush', z.object({ caller, id: scheduledId }), z.object({})),
  /** The public key that browsers subscribe with. Fails with NOT_FOUND. */
  getWebPushKey: rpc('push-delivery.getWebPushKey', z.object({ caller }), z.object({ publicKey: z.string() })),
  /** The ports of the running connectors, for deployments without GATEPOST_PUSH_URL. */
  findConnectors: rpc('push-delivery.findConnectors', z.object({}), z.object({ ports: z.array(z.number().int()) })),
};

/** The name of a device, chosen by the client. It is a secret: any client that knows it receives the device's messages. */
export const installationId = z.string().min(1).max(128);

/** Rules of the API: bytes of the JSON without `device_ids`, ids, and devices per second (`flow_control`): less than the least counts as it. */
export const PUSH_LIMITS = { bytes: 4_095, deviceIds: 500, leastFlow: 1_000, mostFlow: 1_000_000_000 } as const;
export const MAX_DESCRIBED_DEVICES = 200;
export const MAX_CONNECTED_DEVICES = 500;
export const PUSH_PARTITIONS = 64;

const partition = z.number().int().min(0).lt(PUSH_PARTITIONS);

const deviceConnection = z.object({
  /** Null for a connection that a version before 0.1.0 has opened. */
  since: z.iso.datetime().nullable(),
  /** The form of the frames: `gatepost`, `json`, `protobuf`, `base64`. */
  protocol: z.string().nullable(),
  node: z.string(),
});

export const pushOperationsRpc = {
  send: rpc('push-delivery.sendPushAsOperator', z.object({ appId, body: jsonObject }), accepted),
  getStatus: rpc(
    'push-delivery.getPushStatus',
    z.object({ appId, objectId }),
    z.object({
      objectId,
      status: z.enum(NOTIFICATION_STATUSES),
      error: z.string().nullable(),
      createdAt: z.iso.datetime(),
      expiresAt: z.iso.datetime(),
      dueAt: z.iso.datetime().optional(),
      /** When the search for devices ended, or the push failed; null before. */
      foundAt: z.iso.datetime().nullable().optional(),
      /** The HTTP request that sent it; null for a push of an operator. */
      requestId: z.string().nullable().optional(),
      /** Devices per second; null: no limit. */
      flowControl: count.nullable().optional(),
      /** The search for devices: partitions that are done. Pushes to few devices need no partitions, and are done at once. */
      progress: z.object({ partition: count, of: z.literal(PUSH_PARTITIONS) }).optional(),
      platforms: z.record(z.string(), deliveryCounts),
      vendors: z.record(z.string(), vendorCounts),
    }),
  ),
  /** Not exact after 3 seconds: then at least this many. Fails with the errors of a push for the body. */
  countTargets: rpc(
    'push-delivery.countTargets',
    z.object({ appId, body: jsonObject }),
    z.object({
      total: count,
      isExact: z.boolean(),
      platforms: z.record(z.string(), z.object({ targeted: count, unreachable: count, vendor: count })),
      unreachable: count,
      /** Matching devices that no push reaches: marked as invalid, or not seen for 90 days. Null: the count took too long. */
      leftOut: z.object({ invalid: count, notSeen: count }).nullable(),
      sample: z.array(z.object({ objectId, installationId: z.string().nullable(), platform: z.string() })),
    }),
  ),
  preview: rpc(
    'push-delivery.previewPush',
    z.object({ appId, body: jsonObject }),
    z.object({
      bytes: count,
      maxBytes: count,
      message: z
        .object({
          body: z.string(),
          bodies: z.record(z.string(), z.string()),
          /** The only platforms that the push has content for; null: all. */
          platforms: z.array(z.string()).nullable(),
          dueAt: z.iso.datetime(),
          expiresAt: z.iso.datetime(),
        })
        .nullable(),
      problem: z.object({ name: z.string(), code: z.number().int(), message: z.string() }).nullable(),
    }),
  ),
  /** Connected devices in no order, about `limit` at a time; a device that connects meanwhile may be missing. */
  listConnected: rpc(
    'push-delivery.listConnected',
    z.object({
      appId,
      after: z.object({ partition, cursor: z.string().max(128) }).optional(),
      limit: z.number().int().min(1).max(MAX_CONNECTED_DEVICES),
    }),
    z.object({
      devices: z.array(deviceConnection.extend({ installationId })),
      next: z.object({ partition: z.number().int(), cursor: z.string() }).nullable(),
    }),
  ),
  describeDevices: rpc(
    'push-delivery.describeDevices',
    z.object({ appId, installationIds: z.array(installationId).min(1).max(MAX_DESCRIBED_DEVICES) }),
    z.object({
      devices: z.array(
        z.object({
          installationId,
          connection: deviceConnection.nullable(),
          waiting: count,
          /** Messages that its full queue has dropped and that it does not know of yet. */
          dropped: count,
        }),
      ),
    }),
  ),
  /** Messages by the day of their push, once for each device, without those of vendors' channels. Fails with QUERY_TIMED_OUT after 3 seconds. */
  countByDay: rpc(
    'push-delivery.countPushesByDay',
    daysOfApp,
    z.object({ days: z.array(z.object({ day: z.iso.date(), queued: count, acknowledged: count })) }),
  ),
  /** The most devices connected at once in each hour of the last 30 days. Hours without a count are left out, zeros are not. */
  countConnectedByHour: rpc(
    'push-delivery.countConnectedByHour',
    daysOfApp,
    z.object({ hours: z.array(z.object({ at: z.iso.datetime(), connected: count })) }),
  ),
  countDevices: rpc(
    'push-delivery.countDevices',
    z.object({ appId }),
    z.object({
      platforms: z.record(z.string(), z.object({ installations: count, targeted: count })),
      connected: count,
    }),
  ),
};

export const pushMessage = z.object({
  /** The notification's object id: devices recognise repeated deliveries of a message by it. */
  id: z.string(),
  appId: z.string(),
  /** Increases in the order in which pushes were accepted. */
  order: z.number().int(),
  expiresAt: z.number().int(),
  bodies: z.record(z.string(), z.string()),
  body: z.string(),
});

export type PushMessage = z.output<typeof pushMessage>;

/** They only speed up delivery: every message also waits in the device's queue. */
export const connectorMessages = {
  deliver: directMessage(
    'connector.deliver',
    z.object({
      wakeUps: z.array(
        z.object({
          message: pushMessage,
          /** By platform: the ids of its installations. */
          targets: z.array(z.tuple([z.string(), z.array(installationId)])),
          /** The message may be a repetition: the connector reads the queue instead of sending at once. */
          isRepeated: z.boolean(),
          traceparent: z.string().optional(),
        }),
      ),
      isBulk: z.boolean(),
    }),
  ),
  /** A device has logged in on another connector: its older session ends. */
  evict: directMessage('connector.evict', z.object({ appId: z.string(), installationId, session: z.string() })),
};
