import { type JsonObject, type JsonValue, PUSH_LIMITS } from '#contracts';
import { appError } from '#errors';
import { dateOf, isJsonObject } from '#objects';
import { messageOf } from '../dispatch/push-message.rules.js';
import type { NewNotification, StoredMessage } from '../pushes/push.row.js';
import { assertStorable, incorrect, isLeftOut, parseConditions, parseDevices, shortName } from './push-target.rules.js';

/** A valid request for a push. */
export interface ParsedPush {
  readonly notification: Omit<NewNotification, 'appId' | 'objectId' | 'requestId'>;
  /** Requests with the same id are one request. */
  readonly reqId: string | null;
}

interface PushCircumstances {
  readonly now: Date;
  /** The value of `prod` if the body has none. */
  readonly prod: NewNotification['prod'];
}

/**
 * Reads the body of `POST /1.1/push`.
 * @throws AppError OBJECT_TOO_LARGE, KEY_REQUIRED, INCORRECT_TYPE, INVALID_QUERY, INVALID_CHANNEL, NOT_SUPPORTED. The content
 *   of `where` is not checked yet.
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
      data,
      message: { ...message, ...parseAppleApp(body) },
      notificationId: shortName('notification_id', body['notification_id']),
      prod: parseProd(body['prod'], prod),
      flowControl: parseFlow(body['flow_control']),
    },
    reqId: shortName('req_id', body['req_id']),
  };
}

function assertSize(body: JsonObject): void {
  if (Buffer.byteLength(JSON.stringify(body)) > PUSH_LIMITS.bytes)
    throw appError('OBJECT_TOO_LARGE', { message: `A push may have at most ${PUSH_LIMITS.bytes} bytes.` });
}

function parseData(data: JsonValue | undefined): JsonObject {
  if (isLeftOut(data)) throw appError('KEY_REQUIRED', { message: 'data is required.' });
  if (!isJsonObject(data)) throw incorrect('data must be a JSON object.');
  return data;
}

/** The Android notification channel of the message, given beside `data` or in it. */
function parseChannelOfDevice({ _notificationChannel: channel }: JsonObject): JsonObject {
  if (isLeftOut(channel)) return {};
  if (typeof channel !== 'string' || channel.trim() === '')
    throw incorrect('_notificationChannel must be the name of a channel.');
  return { _notificationChannel: channel };
}

const TOPIC = /^[A-Za-z0-9.-]{1,255}$/;
const TEAM_ID = /^[A-Z0-9]{10}$/;

/** The app on Apple devices: `topic` and `apns_team_id`. */
function parseAppleApp({ topic, apns_team_id: teamId }: JsonObject): Pick<StoredMessage, 'apns'> {
  const apns = {
    ...named('topic', topic, TOPIC, 'topic must be a bundle id such as com.example.app.'),
    ...named('teamId', teamId, TEAM_ID, 'apns_team_id must be the 10 capital letters and digits of a team.'),
  };
  return Object.keys(apns).length === 0 ? {} : { apns };
}

function named(name: 'topic' | 'teamId', value: JsonValue | undefined, form: RegExp, problem: string) {
  if (isLeftOut(value)) return {};
  if (typeof value !== 'string' || !form.test(value)) throw incorrect(problem);
  return { [name]: value };
}

function parseProd(value: JsonValue | undefined, fallback: NewNotification['prod']): NewNotification['prod'] {
  if (isLeftOut(value)) return fallback;
  if (value !== 'dev' && value !== 'prod') throw incorrect('prod must be dev or prod.');
  return value;
}

function parseFlow(value: JsonValue | undefined): number | null {
  if (isLeftOut(value)) return null;
  if (typeof value !== 'number' || value > PUSH_LIMITS.mostFlow)
    throw incorrect('flow_control must be a number of devices per second, at most 1,000,000,000.');
  return Math.max(Math.floor(value), PUSH_LIMITS.leastFlow);
}

/** A push that is due within this time is sent at once (rule of the API). */
const AT_ONCE_MS = 60_000;
const DEFAULT_LIFE_MS = 7 * 24 * 3_600_000;
const LONGEST_AHEAD_SECONDS = 10 * 365 * 24 * 3_600;

interface PushTimes {
  readonly dueAt: Date;
  readonly expiresAt: Date;
}

/** The time of sending, and the time after which no device gets the push. @throws AppError INCORRECT_TYPE */
function parseTimes(body: JsonObject, now: Date): PushTimes {
  const dueAt = parseDue(body['push_time'], now);
  const expiresAt = parseExpiry(body, dueAt);
  if (expiresAt <= dueAt) throw incorrect('A push must expire after the time at which it is sent.');
  if (expiresAt.getTime() - now.getTime() > LONGEST_AHEAD_SECONDS * 1_000)
    throw incorrect('A push must expire within ten years.');
  return { dueAt, expiresAt };
}

function parseDue(value: JsonValue | undefined, now: Date): Date {
  if (isLeftOut(value)) return now;
  const time = parseTime('push_time', value);
  return time.getTime() - now.getTime() < AT_ONCE_MS ? now : time;
}

function parseExpiry({ expiration_time: time, expiration_interval: seconds }: JsonObject, dueAt: Date): Date {
  if (!isLeftOut(time) && !isLeftOut(seconds)) throw incorrect('Set expiration_time or expiration_interval, not both.');
  if (!isLeftOut(time)) return parseTime('expiration_time', time);
  if (isLeftOut(seconds)) return new Date(dueAt.getTime() + DEFAULT_LIFE_MS);
  if (typeof seconds !== 'number' || !Number.isInteger(seconds) || seconds > LONGEST_AHEAD_SECONDS)
    throw incorrect('expiration_interval must be a whole number of seconds, at most ten years.');
  return new Date(dueAt.getTime() + seconds * 1_000);
}

function parseTime(name: string, value: JsonValue): Date {
  const time = dateOf(value);
  if (time === undefined) throw incorrect(`${name} must be an ISO 8601 time.`);
  return time;
}
