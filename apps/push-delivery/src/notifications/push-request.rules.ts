import { type JsonObject, type JsonValue, PUSH_LIMITS } from '#contracts';
import { appError, type AppError } from '#errors';
import { dateOf, DEVICE_TYPE, isJsonObject, isStorableText, parseChannels, storedBytes } from '#objects';
import { PLATFORMS } from '../dispatch/delivery-counts.rules.js';
import type { NewNotification, StoredMessage } from '../pushes/push.row.js';
import { CONTENT_MEMBERS } from '../vendors/apns/apns.rules.js';
import { ANDROID_VENDORS, type BlockTexts, textsOfBlock, withoutNulls } from '../vendors/vendor-channel.rules.js';

const MAX_DEVICE_ID_LENGTH = 256;
const SHORT_NAME = /^[A-Za-z0-9]{1,16}$/;
const BLOCKS: ReadonlySet<string> = new Set([...PLATFORMS, ...ANDROID_VENDORS.keys()]);

export interface ParsedPush {
  readonly notification: Omit<NewNotification, 'appId' | 'objectId' | 'requestId'>;
  /** Requests with the same id are one request. */
  readonly reqId: string | null;
}

interface PushCircumstances {
  readonly now: Date;
  readonly prod: NewNotification['prod'];
}

/** The content of `where` is not checked yet. @throws AppError OBJECT_TOO_LARGE, KEY_REQUIRED, INCORRECT_TYPE, INVALID_QUERY, INVALID_CHANNEL, NOT_SUPPORTED */
export function parsePush(body: JsonObject, circumstances: PushCircumstances): ParsedPush {
  assertSize(body);
  assertStorable(body);
  return parsed(body, parseConditions(body), circumstances);
}

/** @throws AppError OBJECT_TOO_LARGE, KEY_REQUIRED, INCORRECT_TYPE */
export function parsePushToDevices(body: JsonObject, circumstances: PushCircumstances): ParsedPush {
  const { device_ids: _ids, ...rest } = body;
  assertSize(rest);
  assertStorable(body);
  return parsed(body, parseDevices(body), circumstances);
}

function parsed(body: JsonObject, where: readonly JsonObject[], { now, prod }: PushCircumstances): ParsedPush {
  const data = parseData(body['data']);
  const times = parseTimes(body, now);
  const { message, platforms, vendors } = messageForDevices(data, parseChannelOfDevice(body), times.expiresAt);
  const target = {
    where: vendors === undefined ? where : [...where, ofVendors(vendors)],
    ...(platforms === undefined ? {} : { platforms }),
  };
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
  if (storedBytes(body) > PUSH_LIMITS.bytes)
    throw appError('OBJECT_TOO_LARGE', { message: `A push may have at most ${PUSH_LIMITS.bytes} bytes.` });
}

function parseData(data: JsonValue | undefined): JsonObject {
  if (isLeftOut(data)) throw appError('KEY_REQUIRED', { message: 'data is required.' });
  if (!isJsonObject(data)) throw incorrect('data must be a JSON object.');
  return withoutOmitted(data);
}

/** SDKs send `null` for an omitted member: it must not replace a shared text. Custom members keep it. */
function withoutOmitted(data: JsonObject): JsonObject {
  const isBlock = (name: string) => BLOCKS.has(name) || name === 'aps';
  const isCustom = (name: string) => !isBlock(name) && !CONTENT_MEMBERS.has(name);
  const given = Object.entries(data).filter(([name, value]) => value !== null || isCustom(name));
  return Object.fromEntries(given.map(([name, value]) => [name, isBlock(name) ? withoutNulls(value) : value]));
}

/** The Android notification channel of the message, given beside `data` or in it. */
function parseChannelOfDevice({ _notificationChannel: channel }: JsonObject): JsonObject {
  if (isLeftOut(channel)) return {};
  if (typeof channel !== 'string' || channel.trim() === '')
    throw incorrect('_notificationChannel must be the name of a channel.');
  return { _notificationChannel: channel };
}

const TOPIC = /^[A-Za-z0-9.-]{1,255}$/;
/** Apps that once pushed with certificates name teams of any form, as their devices do. */
const TEAM_ID = /^[^\p{Cc}]{1,64}$/u;

function parseAppleApp({ topic, apns_team_id: teamId }: JsonObject): Pick<StoredMessage, 'apns'> {
  const apns = {
    ...named('topic', topic, TOPIC, 'topic must be a bundle id such as com.example.app.'),
    ...named('teamId', teamId, TEAM_ID, 'apns_team_id must be a text of up to 64 characters.'),
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
  // Swift SDKs send a number with a fraction.
  if (typeof seconds !== 'number' || seconds < 1 || seconds > LONGEST_AHEAD_SECONDS)
    throw incorrect('expiration_interval must be a number of seconds, at least 1 and at most ten years.');
  return new Date(dueAt.getTime() + Math.floor(seconds) * 1_000);
}

function parseTime(name: string, value: JsonValue): Date {
  const time = dateOf(value);
  if (time === undefined) throw incorrect(`${name} must be an ISO 8601 time.`);
  return time;
}

const KNOWN = /^(?:_.*|data|prod|topic|flow_control|push_time|(?:req|notification|apns_team)_id|expiration_.*)$/;

/** No condition selects all installations; an unknown member may be a misspelled one. @throws AppError as `parsePush` */
function parseConditions({ where, channels, cql, ...others }: JsonObject): JsonObject[] {
  if (!isLeftOut(cql)) throw appError('NOT_SUPPORTED', { message: 'This server does not support cql. Use where.' });
  const unknown = Object.keys(others).find((name) => !KNOWN.test(name));
  if (unknown !== undefined && isLeftOut(where) && isLeftOut(channels))
    throw incorrect(`Unknown member ${unknown}. Remove it, or set where or channels: without both, all devices match.`);
  return [...parseWhereMember(where), ...parseChannelNames(channels)];
}

function parseDevices({ device_type: type, device_ids: ids, vendor }: JsonObject): JsonObject[] {
  if (isLeftOut(type) || isLeftOut(ids))
    throw appError('KEY_REQUIRED', { message: 'device_type and device_ids are required.' });
  if (typeof type !== 'string' || !DEVICE_TYPE.test(type)) throw incorrect('device_type must be a name such as ios.');
  return [{ deviceType: type, ...addressedBy(oneOf(parseDeviceIds(ids)), type, vendor) }];
}

/** Whether a request omits a member: SDKs send `null` for an omitted one. An empty string is a value, usually an invalid one. */
function isLeftOut(value: JsonValue | undefined): value is undefined | null {
  return value === undefined || value === null;
}

function incorrect(message: string): AppError {
  return appError('INCORRECT_TYPE', { message });
}

/** A name that applications give to a push: 1 to 16 letters and digits. @throws AppError INCORRECT_TYPE */
function shortName(name: string, value: JsonValue | undefined): string | null {
  if (isLeftOut(value)) return null;
  if (typeof value === 'string' && SHORT_NAME.test(value)) return value;
  throw incorrect(`${name} must be 1 to 16 letters and digits.`);
}

/** @throws AppError INCORRECT_TYPE for a string that PostgreSQL cannot store, instead of changing it silently */
function assertStorable(value: JsonValue): void {
  if (typeof value === 'string' && !isStorableText(value))
    throw incorrect('Strings must be valid Unicode without NUL characters.');
  if (Array.isArray(value)) value.forEach(assertStorable);
  else if (isJsonObject(value))
    for (const [key, member] of Object.entries(value)) {
      assertStorable(key);
      assertStorable(member);
    }
}

/** A token belongs to one vendor. @throws AppError INCORRECT_TYPE */
function addressedBy(ids: JsonValue, type: string, vendor: JsonValue | undefined): JsonObject {
  if (type === 'ios') return { deviceToken: ids };
  if (isLeftOut(vendor)) return { installationId: ids };
  if (typeof vendor !== 'string' || vendor.trim() === '') throw incorrect('vendor must be a name such as mi.');
  return { vendor: vendorAmong([vendor.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`)]), registrationId: ids };
}

function parseWhereMember(where: JsonValue | undefined): JsonObject[] {
  if (isLeftOut(where)) return [];
  const conditions = Array.isArray(where) ? where : [where];
  if (!conditions.every(isJsonObject)) throw appError('INVALID_QUERY', { message: 'where must be a JSON object.' });
  return conditions.filter((condition) => Object.keys(condition).length > 0);
}

/** An empty list is refused: it would select no device or, through a mistake, all devices. */
function parseChannelNames(channels: JsonValue | undefined): JsonObject[] {
  if (isLeftOut(channels)) return [];
  const names = parseChannels(Array.isArray(channels) ? channels : [channels]);
  if (names.length === 0) throw appError('INVALID_CHANNEL', { message: 'channels must contain at least one channel.' });
  return [{ channels: { $in: names } }];
}

function parseDeviceIds(ids: JsonValue): string[] {
  if (Array.isArray(ids) && ids.length > 0 && ids.length <= PUSH_LIMITS.deviceIds && ids.every(isDeviceId)) return ids;
  throw incorrect(`device_ids must be a list of 1 to ${PUSH_LIMITS.deviceIds} strings.`);
}

function isDeviceId(value: JsonValue): value is string {
  return typeof value === 'string' && value.trim() !== '' && value.length <= MAX_DEVICE_ID_LENGTH;
}

function oneOf(ids: string[]): JsonValue {
  const [first, ...others] = ids;
  return first !== undefined && others.length === 0 ? first : { $in: ids };
}

interface PushMessageParts {
  readonly message: StoredMessage;
  readonly platforms: readonly string[] | undefined;
  /** The vendors of Android devices that the message has content for; undefined: all. */
  readonly vendors: readonly string[] | undefined;
}

/** Each body has the expiry in milliseconds, because devices drop expired messages. */
export function messageForDevices(data: JsonObject, added: JsonObject, expiresAt: Date): PushMessageParts {
  const blocks = new Map(PLATFORMS.flatMap((platform) => blockOf(data, platform)));
  const ofVendor = new Map([...ANDROID_VENDORS.keys()].flatMap((vendor) => blockOf(data, vendor)));
  const shared = sharedContent(data);
  const isForAll = blocks.size + ofVendor.size === 0 || Object.keys(shared).length > 0;
  const isForVendors = !isForAll && ofVendor.size > 0 && !blocks.has('android');
  const texts = isForVendors ? textsForOthers(ofVendor) : undefined;
  if (texts !== undefined) blocks.set('android', { ...texts });
  const bodyOf = (own: JsonObject) =>
    JSON.stringify({ ...added, ...shared, ...own, _expiration_time: expiresAt.toISOString() });
  const bodies = Object.fromEntries([...blocks].map(([platform, block]) => [platform, bodyOf(block)]));
  return {
    message: { body: bodyOf({}), bodies, ...(texts !== undefined && texts.alert === undefined ? VENDORS_ONLY : {}) },
    platforms: isForAll ? undefined : [...blocks.keys()],
    vendors: isForVendors ? [...ofVendor.keys()] : undefined,
  };
}

/** The text for a device that its vendor's channel does not reach, so that its notification is not empty. */
function textsForOthers(blocks: ReadonlyMap<string, JsonObject>): BlockTexts {
  const texts = [...blocks].map(([vendor, block]) => textsOfBlock(vendor, block));
  return texts.find(({ alert }) => alert !== undefined) ?? {};
}

const VENDORS_ONLY = { isForVendorsOnly: true } as const;

/** Android devices of these vendors, and all other devices. */
function ofVendors(vendors: readonly string[]): JsonObject {
  const vendor = vendorAmong(vendors);
  return { $or: [{ deviceType: { $ne: 'android' } }, { vendor, registrationId: { $exists: true } }] };
}

/** Installations name vendors in any case; `mi` includes `mi-intl`. */
function vendorAmong(patterns: readonly string[]): JsonObject {
  return { $regex: `^(${patterns.join('|')})(-intl)?$`, $options: 'i' };
}

function blockOf(data: JsonObject, platform: string): [string, JsonObject][] {
  const block: JsonValue | undefined = data[platform];
  return isJsonObject(block) ? [[platform, block]] : [];
}

/** The content for all devices, without blocks. */
function sharedContent(data: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(data).filter(([name, value]) => !BLOCKS.has(name) || !isJsonObject(value)));
}
