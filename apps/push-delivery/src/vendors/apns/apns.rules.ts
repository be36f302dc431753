import type { JsonObject, JsonValue } from '#contracts';
import { isJsonObject } from '#objects';
import type { Outcome, VendorPush, VendorTarget } from '../vendor-channel.rules.js';

// Facts: Apple, "Sending notification requests to APNs" and "Handling notification responses from APNs"; keys of `data` as LeanCloud
// documents them for iOS.

const MAX_BYTES = 4_096;
const MAX_VOIP_BYTES = 5_120;
const MAX_COLLAPSE_ID_BYTES = 64;
const MAX_TOKEN_LENGTH = 200;
const APS_MEMBERS = ['category', 'thread-id', 'sound', 'target-content-id', 'url-args'];
/** Members that become headers, or are for other channels. */
/** Of a message for all devices; Apple's channel reads them. */
export const CONTENT_MEMBERS: ReadonlySet<string> = new Set([
  ...APS_MEMBERS,
  'aps',
  'alert',
  'title',
  'badge',
  'content-available',
  'mutable-content',
  'collapse-id',
  'apns-priority',
  'apns-push-type',
  '_expiration_time',
  '_notificationChannel',
  '_channel',
]);
const TOPIC_SUFFIXES = {
  alert: '',
  background: '',
  mdm: '',
  voip: '.voip',
  complication: '.complication',
  controls: '.push-type.controls',
  fileprovider: '.pushkit.fileprovider',
  liveactivity: '.push-type.liveactivity',
  location: '.location-query',
  pushtotalk: '.voip-ptt',
  widgets: '.push-type.widgets',
} as const;

type PushType = keyof typeof TOPIC_SUFFIXES;

export interface ApnsMessage {
  readonly headers: Readonly<Record<string, string>>;
  readonly pushType: PushType;
  readonly body: (badge: number | null) => string;
}

/** @returns a text with the reason if APNs would refuse the message */
export function apnsMessage(push: VendorPush, platform: string): ApnsMessage | string {
  const data = JSON.parse(push.message.bodies[platform] ?? push.message.body) as JsonObject;
  const payload = isJsonObject(data['aps']) ? nativePayload(data) : payloadOf(data);
  const pushType = data['apns-push-type'] ?? (isVisible(payload) ? 'alert' : 'background');
  if (!isPushType(pushType)) return 'InvalidPushType';
  const body = bodyOf(payload);
  const headers = {
    'apns-push-type': pushType,
    'apns-priority': textOf(data['apns-priority'] ?? (pushType === 'background' ? 5 : 10)),
    'apns-expiration': String(Math.floor(push.expiresAt.getTime() / 1_000)),
    'apns-collapse-id': textOf(data['collapse-id'] ?? push.objectId),
  };
  return mistakeIn(headers, body(null)) ?? { headers, pushType, body };
}

function mistakeIn(headers: Readonly<Record<string, string>>, body: string): string | undefined {
  const maxBytes = headers['apns-push-type'] === 'voip' ? MAX_VOIP_BYTES : MAX_BYTES;
  if (!PRIORITIES.has(headers['apns-priority'] ?? '')) return 'BadPriority';
  if (!isHeader(headers['apns-collapse-id'] ?? '')) return 'BadCollapseId';
  return Buffer.byteLength(body) > maxBytes ? 'PayloadTooLarge' : undefined;
}

function textOf(value: JsonValue): string {
  return typeof value === 'number' || typeof value === 'string' ? String(value) : '';
}

const PRIORITIES: ReadonlySet<string> = new Set(['10', '5', '1']);

function isVisible({ aps }: JsonObject): boolean {
  return isJsonObject(aps) && ['alert', 'badge', 'sound'].some((name) => name in aps);
}

function isPushType(value: JsonValue): value is PushType {
  return typeof value === 'string' && Object.hasOwn(TOPIC_SUFFIXES, value);
}

function isHeader(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text) && text.length <= MAX_COLLAPSE_ID_BYTES;
}

/** Apple's form: taken as it is, without the members that become headers. */
function nativePayload(data: JsonObject): JsonObject {
  const consumed = new Set([
    'collapse-id',
    'apns-priority',
    'apns-push-type',
    '_expiration_time',
    '_notificationChannel',
  ]);
  return Object.fromEntries(Object.entries(data).filter(([name]) => !consumed.has(name)));
}

function payloadOf(data: JsonObject): JsonObject {
  const aps: JsonObject = {};
  const alert = alertOf(data);
  if (alert !== undefined) aps['alert'] = alert;
  if (data['badge'] !== undefined) aps['badge'] = data['badge'];
  for (const name of APS_MEMBERS) if (data[name] !== undefined) aps[name] = apsValue(name, data[name]);
  for (const name of ['content-available', 'mutable-content']) if (isOn(data[name])) aps[name] = 1;
  const custom = Object.entries(data).filter(([name]) => !CONTENT_MEMBERS.has(name));
  return { aps, ...Object.fromEntries(custom) };
}

function alertOf({ alert, title }: JsonObject): JsonValue | undefined {
  if (typeof title !== 'string' || alert === undefined) return alert;
  if (isJsonObject(alert)) return { title, ...alert };
  return { title, body: alert };
}

function apsValue(name: string, value: JsonValue): JsonValue {
  if (name !== 'sound' || !isJsonObject(value) || value['volume'] === undefined) return value;
  return { ...value, volume: Number(value['volume']) };
}

function isOn(value: JsonValue | undefined): boolean {
  return value === 1 || value === true || value === '1';
}

function bodyOf(payload: JsonObject): (badge: number | null) => string {
  const aps = payload['aps'] as JsonObject;
  if (aps['badge'] !== 'Increment') {
    const text = JSON.stringify(payload);
    return () => text;
  }
  return (badge) => JSON.stringify({ ...payload, aps: { ...aps, badge: badge ?? 1 } });
}

const TOPIC = /^[A-Za-z0-9.-]{1,255}$/;

export function apnsTopic(
  { message }: VendorPush,
  target: VendorTarget,
  topics: readonly string[],
  pushType: PushType,
): string | undefined {
  const topic = message.apns?.topic ?? target.topic ?? (topics.length === 1 ? topics[0] : undefined);
  const suffix = TOPIC_SUFFIXES[pushType];
  if (topic !== undefined && !TOPIC.test(topic)) return undefined;
  return topic === undefined || topic.endsWith(suffix) ? topic : `${topic}${suffix}`;
}

export function isApnsToken(token: string): boolean {
  return token.length <= MAX_TOKEN_LENGTH && /^(?:[0-9a-f]{2}){4,}$/i.test(token);
}

const REASON = /^[A-Za-z]{1,40}$/;
/** PostgreSQL refuses years with more than four digits in ISO 8601. */
const TIMES_END = Date.UTC(2100, 0);
/** After a second provider token the connection cannot be used for this time. */
const TOKEN_BACK_OFF_MS = 20 * 60_000;
const IDLE = 'IdleTimeout';

export function apnsOutcome(status: number, text: string, prod: 'dev' | 'prod', retryAfterMs?: number): Outcome {
  if (status === 200) return { kind: 'accepted' };
  const { reason, timestamp } = answerOf(text, status);
  if (status === 410) return { kind: 'invalid', reason, ...(timestamp === undefined ? {} : { since: timestamp }) };
  // Apple gives the same answer for a token of the other environment.
  if (reason === 'BadDeviceToken' && prod === 'prod') return { kind: 'invalid', reason, isDoubtful: true };
  if (status === 403) return { kind: 'credentials', reason };
  const isLater = status >= 500 || status === 429 || reason === IDLE;
  return isLater ? laterBecause(reason, retryAfterMs) : { kind: 'rejected', reason };
}

function laterBecause(reason: string, backOffMs: number | undefined): Outcome {
  if (reason === 'TooManyRequests') return { kind: 'later', reason, scope: 'device' };
  const askedMs = reason === 'TooManyProviderTokenUpdates' ? TOKEN_BACK_OFF_MS : backOffMs;
  return { kind: 'later', reason, scope: 'lane', ...(askedMs === undefined ? {} : { backOffMs: askedMs }) };
}

/** Bounded, because the reason becomes a key of the push's record. */
export function answerOf(text: string, status: number): { reason: string; timestamp?: Date } {
  try {
    const { reason, timestamp } = JSON.parse(text) as { reason?: unknown; timestamp?: unknown };
    const isTime = typeof timestamp === 'number' && timestamp >= 0 && timestamp < TIMES_END;
    const since = isTime ? { timestamp: new Date(timestamp) } : {};
    if (typeof reason === 'string' && REASON.test(reason)) return { reason, ...since };
  } catch {
    // Not JSON: the status is the reason.
  }
  return { reason: `status ${status}` };
}
