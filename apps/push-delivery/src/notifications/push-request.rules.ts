import type { JsonObject, JsonValue } from '#contracts';
import { appError } from '#errors';
import { isJsonObject } from '#objects';
import type { NewNotification } from './notification.row.js';
import { assertStorable, incorrect, isLeftOut, shortName } from './push-field.rules.js';
import { messageOf } from './push-message.rules.js';
import { isBulk, parseConditions, parseDevices } from './push-target.rules.js';
import { parseTimes } from './push-times.rules.js';

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

export interface PushCircumstances {
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
