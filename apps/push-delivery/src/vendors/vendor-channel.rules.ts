import { DEFAULT_PROFILE, type JsonObject, type JsonValue, type Vendor, VENDORS } from '#contracts';
import { isJsonObject } from '#objects';
import type { StoredMessage } from '../pushes/push.row.js';

export interface VendorChannelKey {
  readonly vendor: Vendor;
  readonly profile: string;
  readonly part: string;
  /** Of APNs; empty for other vendors. */
  readonly topics: readonly string[];
}

/** A lane is limited and stopped by itself: one application, vendor, set of credentials and environment. */
export function laneName({ vendor, profile, part }: Omit<VendorChannelKey, 'topics'>, prod: 'dev' | 'prod'): string {
  return [vendor, profile, part, prod].join('/');
}

export function laneVendor(name: string): string {
  return name.split('/', 1)[0] ?? '';
}

/** @returns undefined for a vendor that this release does not know */
export function parseLane(
  name: string,
): (Omit<VendorChannelKey, 'topics'> & { readonly prod: 'dev' | 'prod' }) | undefined {
  const [vendorName, profile = DEFAULT_PROFILE, part = '', prod] = name.split('/');
  const vendor = VENDORS.find((known) => known === vendorName);
  return vendor === undefined ? undefined : { vendor, profile, part, prod: prod === 'dev' ? 'dev' : 'prod' };
}

/** Whether a failure may be the vendor's, or concerns only the device, such as that of a server that the device has chosen. */
type Scope = 'lane' | 'device';

/** Reasons come from short lists: the push's record counts devices by reason. */
export type Outcome =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'invalid'; readonly reason: string; readonly since?: Date; readonly isDoubtful?: boolean }
  | { readonly kind: 'rejected'; readonly reason: string }
  /** The vendor asks for fewer requests in the scope, and for none for `backOffMs`. */
  | { readonly kind: 'later'; readonly reason: string; readonly scope: Scope; readonly backOffMs?: number }
  | { readonly kind: 'unsure'; readonly reason: string; readonly scope: Scope; readonly backOffMs?: number }
  | { readonly kind: 'credentials'; readonly reason: string }
  /** Not tried. `backOffMs`: only the server of this device is in back-off. */
  | { readonly kind: 'waiting'; readonly reason: string; readonly backOffMs?: number };

export interface VendorPush {
  readonly appId: string;
  readonly objectId: string;
  readonly data: JsonObject;
  readonly message: StoredMessage;
  readonly prod: 'dev' | 'prod';
  readonly expiresAt: Date;
  /** Earlier attempts that the vendor answered without a result. */
  readonly keyNo: number;
  readonly isRepeat: boolean;
}

export interface VendorTarget {
  readonly objectId: string;
  readonly token: string;
  readonly platform: string;
  readonly topic: string | null;
  readonly badge: number | null;
}

export interface CheckProblem {
  readonly text: string;
  readonly isRefusal: boolean;
}

export interface VendorChannel {
  readonly targetsPerRequest: number;
  readonly devicesChooseServer?: true;
  /** One outcome for each target in order. It never rejects: a failure is an outcome. */
  send(push: VendorPush, targets: readonly VendorTarget[]): Promise<readonly Outcome[]>;
  /** Sends to no device. @returns undefined if the credentials work */
  check(): Promise<CheckProblem | undefined>;
  /** Reads page by page. The vendor names each token once: record a page before you ask for the next. */
  invalidTokens?(): AsyncIterable<readonly string[]>;
  close(): void;
}

export function merged(base: JsonObject, over: JsonValue | undefined): JsonObject {
  if (!isJsonObject(over)) return base;
  const entries = Object.entries(over).map(([name, value]): [string, JsonValue] => {
    const own = base[name];
    return [name, isJsonObject(own) && isJsonObject(value) ? merged(own, value) : value];
  });
  return { ...base, ...Object.fromEntries(entries) };
}

export function withoutNulls(value: JsonValue): JsonValue {
  if (!isJsonObject(value)) return value;
  const given = Object.entries(value).filter(([, member]) => member !== null);
  return Object.fromEntries(given.map(([name, member]) => [name, withoutNulls(member)]));
}

export function objectIn(text: string): JsonObject {
  try {
    return objectOr(JSON.parse(text) as JsonValue);
  } catch {
    return {};
  }
}

export function objectOr(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

export function textOr(value: JsonValue | undefined, fallback: string): string {
  return typeof value === 'string' && value.trim() !== '' ? value : fallback;
}

export function textsIn(value: JsonValue | undefined): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}

export function cut(text: string, limit: number, countsChineseTwice = false): string {
  const widthOf = (part: string) => part.length + (countsChineseTwice ? part.replaceAll(/[ -~]/g, '').length : 0);
  if (widthOf(text) <= limit) return text;
  let left = limit - widthOf(ELLIPSIS);
  let kept = '';
  for (const character of text) {
    left -= widthOf(character);
    if (left < 0) break;
    kept += character;
  }
  return `${kept}${ELLIPSIS}`;
}

const ELLIPSIS = '…';

/** Bounded, because the code becomes a key of the push's record. */
export function codeOf(value: JsonValue | undefined): string {
  const code = typeof value === 'number' ? String(value) : value;
  return typeof code === 'string' && /^-?\w{1,20}$/.test(code) ? code : '';
}

export function retryAfterMs(header: string | undefined, now: Date): number | undefined {
  if (header === undefined) return undefined;
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now.getTime();
  return ms > 0 ? ms : undefined;
}

interface AndroidVendor {
  readonly vendor: Vendor;
  /** Where its block may have a notification, in the vendor's form: the first one that has a text overrides the others. */
  readonly notifications: readonly (readonly string[])[];
  /** The member of a notification with the text; `title` is the title's. */
  readonly text: string;
}

const BLOCK: readonly string[] = [];
const NOTIFICATIONS = [['android', 'notification'], ['notification']];
const IN_MESSAGE = NOTIFICATIONS.map((path) => ['message', ...path]);

/** By the name in LeanCloud's SDKs: of a block in `data`, and of an installation's `vendor` in lower case. */
export const ANDROID_VENDORS: ReadonlyMap<string, AndroidVendor> = new Map([
  ['mi', { vendor: 'xiaomi', notifications: [BLOCK], text: 'description' }],
  ['hms', { vendor: 'huawei', notifications: [...IN_MESSAGE, ...NOTIFICATIONS], text: 'body' }],
  ['honor', { vendor: 'honor', notifications: NOTIFICATIONS, text: 'body' }],
  ['mz', { vendor: 'meizu', notifications: [['noticeBarInfo']], text: 'content' }],
  ['vivo', { vendor: 'vivo', notifications: [BLOCK], text: 'content' }],
  ['oppo', { vendor: 'oppo', notifications: [BLOCK], text: 'content' }],
  ['fcm', { vendor: 'fcm', notifications: NOTIFICATIONS, text: 'body' }],
]);

export interface BlockTexts {
  readonly title?: JsonValue;
  readonly alert?: JsonValue;
}

/** The vendor's own members override `title` and `alert`. */
export function textsOfBlock(name: string, block: JsonObject): BlockTexts {
  const { notifications = [], text = '' } = ANDROID_VENDORS.get(name) ?? {};
  const natives = notifications.map((path) => path.reduce((from, member) => objectOr(from[member]), block));
  const textOf = (native: string, own: string) =>
    natives.map((from) => from[native]).find((value) => typeof value === 'string') ?? block[own];
  const [title, alert] = [textOf('title', 'title'), textOf(text, 'alert')];
  return { ...(title === undefined ? {} : { title }), ...(alert === undefined ? {} : { alert }) };
}
