import type { JsonObject, JsonValue, Vendor } from '#contracts';
import { objectOr } from './vendor-channel.rules.js';

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
