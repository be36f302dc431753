import type { consoleApi, Device, RouteReply } from '#console-api';
import type { JsonObject, JsonValue, ObjectListQuery, pushOperationsRpc, RpcReply } from '#contracts';
import { DEVICE_ADDRESSES } from '../audit/audit.rules.js';
import { NEWEST_FIRST, objectOf, textOf } from './push.rules.js';

type DeviceDetails = RouteReply<typeof consoleApi.getDevice>['device'];
type DeviceState = Omit<RpcReply<typeof pushOperationsRpc.describeDevices>['devices'][number], 'installationId'>;

const BUILT_IN = ['ACL', 'channels', 'createdAt', 'deviceType', 'objectId', 'updatedAt', 'valid'];
export const UNCHANGEABLE_FIELDS: readonly string[] = ['createdAt', 'objectId', 'updatedAt', ...DEVICE_ADDRESSES];

const HIDDEN = new Set([...BUILT_IN, ...DEVICE_ADDRESSES]);
const NO_ID: DeviceState = { connection: null, waiting: 0, dropped: 0 };

const SHOWN_FIELDS = ['channels', 'deviceType', 'installationId', 'user', 'valid'];

/** A query for the devices with these object ids, newest first, with the fields that `toDevice` reads. */
export function withIds(objectIds: readonly string[]): ObjectListQuery {
  return { ...NEWEST_FIRST, where: { objectId: { $in: objectIds } }, limit: objectIds.length, keys: SHOWN_FIELDS };
}

/** Without the ids and tokens that address the device. @param states by installation id; undefined: the queue store is unavailable */
export function toDevice(installation: JsonObject, states: ReadonlyMap<string, DeviceState> | undefined): Device {
  const { installationId, channels, user } = installation;
  const state = typeof installationId === 'string' ? states?.get(installationId) : NO_ID;
  return {
    objectId: textOf(installation['objectId']),
    deviceType: textOf(installation['deviceType']) || 'unknown',
    channels: Array.isArray(channels) ? channels.filter((each) => typeof each === 'string') : [],
    userId: userOf(user),
    isValid: installation['valid'] !== false,
    createdAt: textOf(installation['createdAt']),
    updatedAt: textOf(installation['updatedAt']),
    ...connectionOf(state),
  };
}

function connectionOf(state: DeviceState | undefined): Pick<Device, 'connectedSince' | 'isConnected' | 'waiting'> {
  if (state === undefined) return { isConnected: null, connectedSince: null, waiting: null };
  const { connection, waiting } = state;
  return { isConnected: connection !== null, connectedSince: connection?.since ?? null, waiting };
}

function userOf(pointer: JsonValue | undefined): string | null {
  const { className, objectId } = objectOf(pointer);
  return className === '_User' && typeof objectId === 'string' ? objectId : null;
}

export function toDeviceDetails(
  installation: JsonObject,
  states: ReadonlyMap<string, DeviceState> | undefined,
): DeviceDetails {
  const fields = Object.entries(installation).filter(([name]) => !HIDDEN.has(name));
  return { ...toDevice(installation, states), fields: Object.fromEntries(fields) };
}
