import { z } from 'zod';
import { count, cursor, exportRoute, json, limit, objectId, ofApp, pageOf, route, time } from './route.js';

export const PUSH_STATUSES = ['scheduled', 'in-queue', 'done', 'error'] as const;

export const MAX_DEVICES_WITHOUT_PROOF = 1_000;

/** Replaces an id or token of a device in the condition of a push. */
export const HIDDEN_ADDRESS = '(hidden)';

/** Of one operator in one application. */
export const MAX_TEST_DEVICES = 20;

/** The body of `POST /1.1/push` of the REST API. */
const pushBody = z.strictObject({ body: json });

const deliveryCounts = z.object({
  targeted: count,
  delivered: count,
  queued: count,
  expired: count,
  /** Dropped because the device's queue was full. */
  overflowed: count,
  unreachable: count,
  /** Devices of vendor channels; absent if there are none. */
  vendor: count.optional(),
});

const vendorCounts = z.object({
  targeted: count,
  accepted: count,
  invalid: count,
  rejected: count,
  expired: count,
  waiting: count,
  paused: count.optional(),
  reasons: z.record(z.string(), count),
});

const listedPush = z.object({
  objectId: z.string(),
  status: z.enum(PUSH_STATUSES),
  createdAt: time,
  title: z.string(),
  /** Devices; null until the search has ended. */
  targeted: count.nullable(),
  delivered: count.nullable(),
});

const push = listedPush.extend({
  error: z.string().nullable(),
  expiresAt: time,
  startsAt: time.nullable(),
  /** Between its time and its expiry. */
  lifeSeconds: count,
  flowControl: count.nullable(),
  prod: z.enum(['dev', 'prod']),
  data: json,
  where: json.nullable(),
  platforms: z.record(z.string(), deliveryCounts),
  vendors: z.record(z.string(), vendorCounts),
  /** Completed partitions of the search for devices; null before and after it. */
  progress: z.object({ partition: count, of: count }).nullable(),
});

export type PushDetails = z.output<typeof push>;

const ofPush = ofApp.extend({ pushId: objectId });

const device = z.object({
  objectId: z.string(),
  deviceType: z.string(),
  channels: z.array(z.string()),
  userId: z.string().nullable(),
  isValid: z.boolean(),
  createdAt: time,
  updatedAt: time,
  isConnected: z.boolean().nullable(),
  connectedSince: time.nullable(),
  waiting: count.nullable(),
});

export type Device = z.output<typeof device>;

const ofDevice = ofApp.extend({ deviceId: objectId });
/** `fields`: the application's and the SDK's, without the ids and tokens that address the device. */
const deviceWithFields = device.extend({ fields: json });
const deviceFilters = z.object({
  deviceType: z.string().max(40).optional(),
  channel: z.string().max(255).optional(),
  userId: z.string().max(64).optional(),
});

export const pushesApi = {
  listPushes: route({
    method: 'GET',
    path: '/apps/:appId/pushes',
    access: 'pushes.read',
    isShared: true,
    params: ofApp,
    query: z.object({ status: z.enum(PUSH_STATUSES).optional(), after: cursor.optional(), limit }),
    reply: pageOf(listedPush),
  }),
  /** `req_id` of the body makes a repeated request the same push. Needs a fresh proof if scheduled, or for more than `MAX_DEVICES_WITHOUT_PROOF` devices. */
  sendPush: route({
    method: 'POST',
    path: '/apps/:appId/pushes',
    access: 'pushes.send',
    params: ofApp,
    body: pushBody,
    reply: z.object({ objectId: z.string(), createdAt: time }),
  }),
  /** At once, to the operator's own test devices. Fails with NO_EFFECT without one. */
  sendTestPush: route({
    method: 'POST',
    path: '/apps/:appId/pushes/test',
    access: 'pushes.test',
    params: ofApp,
    body: pushBody,
    reply: z.object({ objectId: z.string(), createdAt: time, devices: count }),
  }),
  /** The devices that this push would target now. */
  countPushTargets: route({
    method: 'POST',
    path: '/apps/:appId/pushes/count',
    access: 'pushes.read',
    isRead: true,
    params: ofApp,
    body: pushBody,
    reply: z.object({
      total: count,
      isExact: z.boolean(),
      /** `unreachable`: without a delivery channel. `vendor`: reached through a vendor's channel. */
      platforms: z.record(z.string(), z.object({ targeted: count, unreachable: count, vendor: count })),
      unreachable: count,
      /** Matching devices that get nothing: invalid token, or not seen for 90 days. Null: the count took too long. */
      leftOut: z.object({ invalid: count, notSeen: count }).nullable(),
      sample: z.array(z.object({ objectId: z.string(), deviceType: z.string() })),
    }),
  }),
  previewPush: route({
    method: 'POST',
    path: '/apps/:appId/pushes/preview',
    access: 'pushes.read',
    isRead: true,
    params: ofApp,
    body: pushBody,
    reply: z.object({
      /** JSON text by platform; `default` for the others. Empty if `problem` is set. */
      bodies: z.record(z.string(), z.string()),
      /** Of the request as JSON. */
      bytes: count,
      maxBytes: count,
      problem: z.string().nullable(),
    }),
  }),
  getPush: route({
    method: 'GET',
    path: '/apps/:appId/pushes/:pushId',
    access: 'pushes.read',
    isShared: true,
    params: ofPush,
    reply: z.object({ push }),
  }),
  /** Stops an unfinished push and deletes its record. Queued messages of devices stay. */
  stopPush: route({
    method: 'POST',
    path: '/apps/:appId/pushes/:pushId/stop',
    access: 'pushes.cancel',
    params: ofPush,
    reply: z.object({}),
  }),

  listDevices: route({
    method: 'GET',
    path: '/apps/:appId/devices',
    access: 'devices.read',
    isShared: true,
    params: ofApp,
    query: deviceFilters.extend({ after: cursor.optional(), limit }),
    reply: pageOf(device),
  }),
  exportDevices: exportRoute({
    path: '/apps/:appId/devices/export',
    access: 'devices.export',
    params: ofApp,
    query: deviceFilters,
    row: deviceWithFields,
    fileName: 'devices',
  }),
  /** Connected devices in no order, about `limit` of them. */
  listConnectedDevices: route({
    method: 'GET',
    path: '/apps/:appId/connected-devices',
    access: 'devices.read',
    isShared: true,
    params: ofApp,
    query: z.object({ after: cursor.optional(), limit }),
    reply: pageOf(device),
  }),
  /** The operator's own. `missing`: marked devices that do not exist any more. */
  listTestDevices: route({
    method: 'GET',
    path: '/apps/:appId/test-devices',
    access: 'pushes.test',
    params: ofApp,
    reply: z.object({ items: z.array(device), missing: count }),
  }),
  /** Removes marks of devices that do not exist any more. */
  markTestDevice: route({
    method: 'PUT',
    path: '/apps/:appId/test-devices/:deviceId',
    access: 'pushes.test',
    params: ofDevice,
    reply: z.object({}),
  }),
  unmarkTestDevice: route({
    method: 'DELETE',
    path: '/apps/:appId/test-devices/:deviceId',
    access: 'pushes.test',
    params: ofDevice,
    reply: z.object({}),
  }),
  getDevice: route({
    method: 'GET',
    path: '/apps/:appId/devices/:deviceId',
    access: 'devices.read',
    params: ofDevice,
    reply: z.object({ device: deviceWithFields }),
  }),
  changeDevice: route({
    method: 'PATCH',
    path: '/apps/:appId/devices/:deviceId',
    access: 'devices.write',
    params: ofDevice,
    body: z.strictObject({ changes: json }),
    reply: z.object({ device: deviceWithFields }),
  }),
  /** All of them or none. */
  deleteDevices: route({
    method: 'POST',
    path: '/apps/:appId/devices/delete',
    access: 'devices.write',
    params: ofApp,
    body: z.strictObject({ deviceIds: z.array(objectId).min(1).max(200) }),
    reply: z.object({ deleted: count }),
  }),
};
