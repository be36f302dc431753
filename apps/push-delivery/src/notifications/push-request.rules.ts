import type { JsonObject, JsonValue } from '#contracts';
import { appError } from '#errors';
import { dateOf, isJsonObject } from '#objects';
import { messageOf } from '../dispatch/push-message.rules.js';
import type { NewNotification } from '../dispatch/push.row.js';
import {
  assertStorable,
  incorrect,
  isBulk,
  isLeftOut,
  parseConditions,
  parseDevices,
  shortName,
} from './push-target.rules.js';

/** Earlier than that ahead a push is sent at once, in milliseconds (the API's rule). */
const AT_ONCE_MS = 60_000;
const DEFAULT_LIFE_MS = 7 * 24 * 3_600_000;
const LONGEST_AHEAD_SECONDS = 10 * 365 * 24 * 3_600;

interface PushTimes {
  readonly dueAt: Date;
  readonly expiresAt: Date;
}

/** When a push is sent, and from when on no device gets it any more. @throws AppError INCORRECT_TYPE */
function parseTimes(body: JsonObject, now: Date): PushTimes {
  const dueAt = parseDue(body['push_time'], now);
  const expiresAt = parseExpiry(body, dueAt);
  if (expiresAt <= dueAt) throw incorrect('A push must expire later than it is sent.');
  if (expiresAt.getTime() - now.getTime() > LONGEST_AHEAD_SECONDS * 1_000)
    throw incorrect('The times of a push lie ten years ahead at most.');
  return { dueAt, expiresAt };
}

function parseDue(value: JsonValue | undefined, now: Date): Date {
  if (isLeftOut(value)) return now;
  const time = parseTime('push_time', value);
  return time.getTime() - now.getTime() < AT_ONCE_MS ? now : time;
}

function parseExpiry({ expiration_time: time, expiration_interval: seconds }: JsonObject, dueAt: Date): Date {
  if (!isLeftOut(time) && !isLeftOut(seconds))
    throw incorrect('Give expiration_time or expiration_interval, not both.');
  if (!isLeftOut(time)) return parseTime('expiration_time', time);
  if (isLeftOut(seconds)) return new Date(dueAt.getTime() + DEFAULT_LIFE_MS);
  if (typeof seconds !== 'number' || !Number.isInteger(seconds) || seconds > LONGEST_AHEAD_SECONDS)
    throw incorrect('expiration_interval is a whole number of seconds, ten years at most.');
  return new Date(dueAt.getTime() + seconds * 1_000);
}

function parseTime(name: string, value: JsonValue): Date {
  const time = dateOf(value);
  if (time === undefined) throw incorrect(`${name} must be an ISO 8601 time.`);
  return time;
}

/** What a push may weigh as JSON, the ids of `POST /1.1/push/devices` aside (the API's bound). */
const MAX_BODY_BYTES = 4_095;
/** The API raises what is lower, 0 and negative numbers included, in devices a second. */
const LEAST_FLOW = 1_000;
const MOST_FLOW = 1_000_000_000;

/** A request for a push as it will be accepted. */
export interface ParsedPush {
  readonly notification: Omit<NewNotification, 'appId' | 'objectId' | 'requestId'>;
  /** Two requests with the same are one. */
  readonly reqId: string | null;
}

interface PushCircumstances {
  readonly now: Date;
  /** What `prod` is where the body does not say. */
  readonly prod: NewNotification['prod'];
}

/**
 * Reads the body of `POST /1.1/push`.
 * @throws AppError OBJECT_TOO_LARGE, KEY_REQUIRED, INCORRECT_TYPE, INVALID_QUERY, INVALID_CHANNEL, NOT_SUPPORTED. What stands
 *   in `where` is not read yet.
 */
export function parsePush(body: JsonObject, circumstances: PushCircumstances): ParsedPush {
  assertSize(body);
  assertStorable(body);
  return parsed(body, parseConditions(body), circumstances);
}

/** Reads the body of `POST /1.1/push/devices`. @throws AppError OBJECT_TOO_LARGE, KEY_REQUIRED, INCORRECT_TYPE */
export function parsePushToDevices(body: JsonObject, circumstances: PushCircumstances): ParsedPush {
  const { device_ids: _ids, ...rest } = body;
  assertSize(rest);
  assertStorable(body);
  return parsed(body, parseDevices(body), circumstances);
}

function parsed(body: JsonObject, where: readonly JsonObject[], { now, prod }: PushCircumstances): ParsedPush {
  const data = parseData(body['data']);
  const times = parseTimes(body, now);
  const { message, platforms } = messageOf(data, parseChannelOfDevice(body), times.expiresAt);
  const target = { where, ...(platforms === undefined ? {} : { platforms }) };
  return {
    notification: {
      createdAt: now,
      ...times,
      target,
      isBulk: isBulk(target),
      data,
      message,
      notificationId: shortName('notification_id', body['notification_id']),
      prod: parseProd(body['prod'], prod),
      flowControl: parseFlow(body['flow_control']),
    },
    reqId: shortName('req_id', body['req_id']),
  };
}

function assertSize(body: JsonObject): void {
  if (Buffer.byteLength(JSON.stringify(body)) > MAX_BODY_BYTES)
    throw appError('OBJECT_TOO_LARGE', { message: `A push may have ${MAX_BODY_BYTES} bytes at most.` });
}

function parseData(data: JsonValue | undefined): JsonObject {
  if (isLeftOut(data)) throw appError('KEY_REQUIRED', { message: 'data is required.' });
  if (!isJsonObject(data)) throw incorrect('data must be a JSON object.');
  return data;
}

/** The channel by which devices show a message, beside `data` or within it. */
function parseChannelOfDevice({ _notificationChannel: channel }: JsonObject): JsonObject {
  if (isLeftOut(channel)) return {};
  if (typeof channel !== 'string' || channel.trim() === '')
    throw incorrect('_notificationChannel must be the name of a channel.');
  return { _notificationChannel: channel };
}

function parseProd(value: JsonValue | undefined, fallback: NewNotification['prod']): NewNotification['prod'] {
  if (isLeftOut(value)) return fallback;
  if (value !== 'dev' && value !== 'prod') throw incorrect('prod must be dev or prod.');
  return value;
}

function parseFlow(value: JsonValue | undefined): number | null {
  if (isLeftOut(value)) return null;
  if (typeof value !== 'number' || value > MOST_FLOW)
    throw incorrect('flow_control must be a number of devices a second, 1,000,000,000 at most.');
  return Math.max(Math.floor(value), LEAST_FLOW);
}
