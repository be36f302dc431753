import type { JsonObject, JsonValue } from '#contracts';
import { isJsonObject } from '#objects';
import type { MessageBodies } from '../pushes/push.row.js';

/** An object in `data` under one of these names is for devices of that platform only. */
export const PLATFORMS: readonly string[] = ['android', 'ios', 'macos', 'tvos', 'watchos', 'web', 'wp'];
/** Blocks for the push services of phone vendors. */
const VENDORS = ['mi', 'hms', 'honor', 'mz', 'vivo', 'oppo', 'fcm'];

interface PushMessageParts {
  readonly message: MessageBodies;
  /** The platforms that the message has content for; undefined: all. */
  readonly platforms: readonly string[] | undefined;
}

/**
 * The message for devices: the members of `data`, overridden by the block of the platform. The server adds the expiry to each
 * body; devices drop expired messages and require milliseconds in this time.
 */
export function messageOf(data: JsonObject, added: JsonObject, expiresAt: Date): PushMessageParts {
  const blocks = new Map(PLATFORMS.flatMap((platform) => blockOf(data, platform)));
  const shared = without(data, [...blocks.keys(), ...VENDORS.filter((vendor) => isJsonObject(data[vendor]))]);
  const bodyOf = (own: JsonObject) =>
    JSON.stringify({ ...added, ...shared, ...own, _expiration_time: expiresAt.toISOString() });
  const bodies = Object.fromEntries([...blocks].map(([platform, block]) => [platform, bodyOf(block)]));
  const isForAll = blocks.size === 0 || Object.keys(shared).length > 0;
  return { message: { body: bodyOf({}), bodies }, platforms: isForAll ? undefined : [...blocks.keys()] };
}

function blockOf(data: JsonObject, platform: string): [string, JsonObject][] {
  const block: JsonValue | undefined = data[platform];
  return isJsonObject(block) ? [[platform, block]] : [];
}

function without(data: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(data).filter(([name]) => !names.includes(name)));
}
