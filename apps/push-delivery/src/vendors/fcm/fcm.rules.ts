import type { JsonObject, JsonValue } from '#contracts';
import { isJsonObject } from '#objects';
import { merged, objectIn, objectOr } from '../vendor-json.rules.js';
import type { Outcome, VendorPush } from '../vendor.types.js';

// Facts: Firebase, REST reference `projects.messages` and "FCM error codes"; LeanCloud's client reads `data.payload` and needs a
// notification beside it.

const MAX_BYTES = 4_096;
const MAX_TTL_SECONDS = 2_419_200;
const RESERVED_KEY = /^(?:from|message_type|(?:google|gcm)[._].*)$/;

/** The message of a push for any token; a text says why FCM would refuse it. */
export function fcmMessage(push: VendorPush, now: Date): JsonObject | string {
  const payload = push.message.bodies['android'] ?? push.message.body;
  const body = JSON.parse(payload) as JsonObject;
  const block = isJsonObject(push.data['fcm']) ? push.data['fcm'] : {};
  const isSilent = body['silent'] === true;
  const texts = isSilent ? {} : notificationOf(body, block);
  const notification = merged(texts, block['notification']);
  const channel = body['_notificationChannel'];
  const shown = isSilent
    ? {}
    : { notification: { tag: push.objectId, ...(channel === undefined ? {} : { channel_id: channel }) } };
  const seconds = Math.min(MAX_TTL_SECONDS, Math.max(0, Math.ceil((push.expiresAt.getTime() - now.getTime()) / 1_000)));
  const android = merged({ ttl: `${seconds}s`, priority: isSilent ? 'NORMAL' : 'HIGH', ...shown }, block['android']);
  const data = { payload, ...textsOf(block['data']) };
  if (Object.keys(data).some((key) => RESERVED_KEY.test(key))) return 'reserved data key';
  const content = { ...(Object.keys(notification).length === 0 ? {} : { notification }), data };
  if (Buffer.byteLength(JSON.stringify(content)) > MAX_BYTES) return 'message too large';
  return { ...content, android };
}

/** The block goes over the shared members. On Android, `alert` is a text; an object in the form of iOS is read as well. */
function notificationOf(body: JsonObject, block: JsonObject): JsonObject {
  const alert = block['alert'] ?? body['alert'];
  const own: JsonObject = isJsonObject(alert) ? alert : {};
  const title = block['title'] ?? body['title'] ?? own['title'];
  const text = typeof alert === 'string' ? alert : own['body'];
  return {
    ...(typeof title === 'string' ? { title } : {}),
    ...(typeof text === 'string' ? { body: text } : {}),
  };
}

function textsOf(data: JsonValue | undefined): Record<string, string> {
  if (!isJsonObject(data)) return {};
  return Object.fromEntries(
    Object.entries(data).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  );
}

const CODE = /^[A-Z_]{1,40}$/;
/** Google asks for this time where a 429 names none. */
const QUOTA_REST_MS = 60_000;
/** Devices in a row with a 429 after which the quota of the project may be used up. */
const MAX_REFUSED_DEVICES = 3;
const THIRD_PARTY = 'THIRD_PARTY_AUTH_ERROR';

/** The outcome of a device, from the answer to its request. */
export function fcmOutcome(status: number, text: string, restMs: number | undefined): Outcome {
  if (status === 200) return { kind: 'accepted' };
  const { reason, isAboutToken } = fcmReason(text, status);
  if (reason === 'UNREGISTERED') return { kind: 'invalid', reason };
  if (reason === 'INVALID_ARGUMENT' && isAboutToken) return { kind: 'invalid', reason, isDoubtful: true };
  if (status === 429 || status >= 500) return laterAfter(status, reason, restMs);
  // The project has no key of Apple or of browsers for this token, so its other tokens work.
  if (reason === THIRD_PARTY) return { kind: 'rejected', reason };
  const isCredentials = status === 401 || reason === 'PERMISSION_DENIED';
  return isCredentials ? { kind: 'credentials', reason } : { kind: 'rejected', reason };
}

/** A 429 without a time may be for the rate of one device, 240 messages a minute. */
function laterAfter(status: number, reason: string, restMs: number | undefined): Outcome {
  if (restMs !== undefined) return { kind: 'later', reason, slowsLane: true, restMs };
  return status === 429 ? { kind: 'later', reason, restMs: QUOTA_REST_MS } : { kind: 'later', reason, slowsLane: true };
}

/** Tells the quota of the project from the rate of a device: FCM has one answer for both. */
export class QuotaRefusals {
  /** The tokens that were refused since FCM has last accepted one. */
  readonly #tokens = new Set<string>();

  /** @returns the outcome; it concerns the lane where FCM has refused several devices in a row */
  judge(token: string, outcome: Outcome): Outcome {
    if (outcome.kind === 'accepted') this.#tokens.clear();
    if (outcome.kind !== 'later' || outcome.slowsLane === true) return outcome;
    this.#tokens.add(token);
    if (this.#tokens.size < MAX_REFUSED_DEVICES) return outcome;
    this.#tokens.clear();
    return { ...outcome, slowsLane: true };
  }
}

/** @returns the error code, bounded; `isAboutToken`: the message itself was valid */
export function fcmReason(text: string, status: number): { reason: string; isAboutToken: boolean } {
  const error = objectOr(objectIn(text)['error']);
  const details = Array.isArray(error['details']) ? error['details'].filter(isJsonObject) : [];
  const code = details.map((detail) => detail['errorCode']).find((one) => typeof one === 'string') ?? error['status'];
  const reason = typeof code === 'string' && CODE.test(code) ? code : `status ${status}`;
  const hasViolations = details.some((detail) => 'fieldViolations' in detail);
  return { reason, isAboutToken: details.some((detail) => 'errorCode' in detail) && !hasViolations };
}
