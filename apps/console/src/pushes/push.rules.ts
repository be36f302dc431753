import { type consoleApi, type Device, PUSH_STATUSES, type RouteReply } from '#console-api';
import type { JsonObject, JsonValue, ObjectListQuery, pushOperationsRpc, RpcReply } from '#contracts';
import { appError } from '#errors';
import { DEVICE_ADDRESSES, isDeviceAddress } from '../audit/audit.rules.js';
import { type ListPlace, readCursor } from '../routing/list.rules.js';

type ListedPush = RouteReply<typeof consoleApi.listPushes>['items'][number];
type DeviceDetails = RouteReply<typeof consoleApi.getDevice>['device'];
type DeviceState = Omit<RpcReply<typeof pushOperationsRpc.describeDevices>['devices'][number], 'installationId'>;

const MAX_TITLE_LENGTH = 120;

export const NEWEST_FIRST = { order: '-createdAt,-objectId', skip: 0, count: false, returnAcl: false };

export function placeOf({ createdAt, objectId }: Pick<ListedPush, 'createdAt' | 'objectId'>): ListPlace {
  return { at: createdAt, id: objectId };
}

/** Objects after the cursor, newest first. @throws AppError INVALID_QUERY */
export function conditionAfter(cursor: string | undefined): JsonObject {
  if (cursor === undefined) return {};
  const { at: iso, id: objectId } = readCursor(cursor);
  const createdAt = { __type: 'Date', iso };
  const isBehind = { $or: [{ createdAt: { $lt: createdAt } }, { createdAt, objectId: { $lt: objectId } }] };
  // The range lets the index begin at the cursor: page 1,000 costs what page 1 costs.
  return { createdAt: { $lte: createdAt }, ...isBehind };
}

export function listed(notification: JsonObject): ListedPush {
  const { status, devices, platforms } = notification;
  const known = PUSH_STATUSES.find((each) => each === status) ?? 'error';
  const delivered = Object.values(objectOf(platforms)).map((counts) => Number(objectOf(counts)['delivered'] ?? 0));
  const isFound = known === 'done' || known === 'in-queue';
  return {
    objectId: textOf(notification['objectId']),
    status: known,
    createdAt: textOf(notification['createdAt']),
    title: titleOf(objectOf(notification['msg'])),
    targeted: isFound ? Number(devices ?? 0) : null,
    delivered: isFound ? delivered.reduce((sum, each) => sum + each, 0) : null,
  };
}

/** A message of several platforms has them one level deeper. */
function titleOf(data: JsonObject): string {
  const bodies = [data, ...Object.values(data).map(objectOf)];
  for (const { title, alert } of bodies) {
    const nested = objectOf(alert);
    const text = [title, nested['title'], alert, nested['body']].find((each) => typeof each === 'string');
    if (typeof text === 'string') return text.slice(0, MAX_TITLE_LENGTH).toWellFormed();
  }
  return '';
}

export function objectOf(value: JsonValue | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

const BUILT_IN = ['ACL', 'channels', 'createdAt', 'deviceType', 'objectId', 'updatedAt', 'valid'];
export const UNCHANGEABLE_FIELDS: readonly string[] = ['createdAt', 'objectId', 'updatedAt', ...DEVICE_ADDRESSES];

const HIDDEN = new Set([...BUILT_IN, ...DEVICE_ADDRESSES]);
const NO_ID: DeviceState = { connection: null, waiting: 0, dropped: 0 };

/** Tests of a whole value. Repeated, others would reveal it part by part. */
const WHOLE_TESTS = ['$exists', '$in'];

const SUB_QUERIES = ['$dontSelect', '$inQuery', '$notInQuery', '$select'];

/** @throws AppError INVALID_QUERY for a condition by which an operator could find the id or a token of a device */
export function assertFindsNoAddress(where: JsonValue | undefined): void {
  if (typeof where !== 'object' || where === null) return;
  for (const [name, value] of Object.entries(where)) {
    if (SUB_QUERIES.includes(name)) assertNamesNoAddress(objectOf(value));
    if (!isDeviceAddress(name)) assertFindsNoAddress(value);
    else if (typeof value !== 'string' && !Object.keys(objectOf(value)).every((test) => WHOLE_TESTS.includes(test)))
      throw appError('INVALID_QUERY', {
        message: `where: ${name} can only be compared as a whole, by a text, $in or $exists.`,
      });
  }
}

/** Sorting by an address, or comparing it with another field, would reveal it part by part. */
function assertNamesNoAddress({ key, order, query }: JsonObject): void {
  const lists = [key, order, objectOf(query)['order']].filter((each) => typeof each === 'string');
  const fields = lists.flatMap((list) => list.split(',')).map((field) => field.trim().replace(/^-/, ''));
  const name = fields.find(isDeviceAddress);
  if (name !== undefined)
    throw appError('INVALID_QUERY', { message: `where: a sub-query cannot have ${name} as its order or key.` });
}

const SHOWN_FIELDS = ['channels', 'deviceType', 'installationId', 'user', 'valid'];

/** A query for the devices with these object ids, newest first, with the fields that `shownDevice` reads. */
export function withIds(objectIds: readonly string[]): ObjectListQuery {
  return { ...NEWEST_FIRST, where: { objectId: { $in: objectIds } }, limit: objectIds.length, keys: SHOWN_FIELDS };
}

/** Without the ids and tokens that address the device. @param states by installation id; undefined: the queue store is unavailable */
export function shownDevice(installation: JsonObject, states: ReadonlyMap<string, DeviceState> | undefined): Device {
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

export function deviceDetails(
  installation: JsonObject,
  states: ReadonlyMap<string, DeviceState> | undefined,
): DeviceDetails {
  const fields = Object.entries(installation).filter(([name]) => !HIDDEN.has(name));
  return { ...shownDevice(installation, states), fields: Object.fromEntries(fields) };
}
