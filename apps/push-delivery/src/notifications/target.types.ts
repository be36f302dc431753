import type { JsonObject } from '#contracts';

/**
 * Which installations a push is for: those of its application that meet all conditions. They were parsed when the push was
 * accepted; `valid` and the age of installations are the scan's business.
 */
export interface PushTarget {
  /** What the request asks for: its `where`, its channels, its ids of devices. */
  readonly where: readonly JsonObject[];
  /** Only devices of these platforms: the message has nothing for others. Absent: all. */
  readonly platforms?: readonly string[];
}
