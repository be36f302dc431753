import { type consoleApi, HIDDEN_ADDRESS, PUSH_STATUSES, type PushDetails, type RouteReply } from '#console-api';
import type { JsonObject, JsonValue, pushOperationsRpc, RpcReply } from '#contracts';
import { appError } from '#errors';
import { isDeviceAddress, withoutAddresses } from '../audit/audit.rules.js';
import { type ListPlace, readCursor } from '../routing/list.rules.js';

type ListedPush = RouteReply<typeof consoleApi.listPushes>['items'][number];

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

export function toListedPush(notification: JsonObject): ListedPush {
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

/** The record of a push, without ids and tokens of devices. */
export function detailsOf(notification: JsonObject, push: RpcReply<typeof pushOperationsRpc.getStatus>): PushDetails {
  const { status, error, createdAt, expiresAt, dueAt = createdAt, flowControl, progress, platforms, vendors } = push;
  return {
    ...toListedPush(notification),
    ...{ error, expiresAt, platforms, vendors },
    startsAt: status === 'scheduled' ? dueAt : null,
    lifeSeconds: Math.max(0, Math.round((Date.parse(expiresAt) - Date.parse(dueAt)) / 1_000)),
    flowControl: flowControl ?? null,
    prod: notification['prod'] === 'dev' ? 'dev' : 'prod',
    data: objectOf(notification['msg']),
    where: withoutAddresses(objectOf(notification['where']), HIDDEN_ADDRESS) as JsonObject,
    progress: status === 'in-queue' ? (progress ?? null) : null,
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

export function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

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
