import type { JsonObject } from '#contracts';

export type ChannelName = 'mail' | 'sms';

/** What shall be sent, as it is queued. */
export interface NewDelivery {
  /** The same for every attempt to send it: the id of the event that asked for it. */
  readonly id: string;
  readonly appId: string;
  readonly channel: ChannelName;
  readonly kind: string;
  readonly recipient: string;
  /** Whose it is, where it is owed only as long as the recipient is that user's. */
  readonly userId: string | null;
  /** Of which time the recipient is known to be the user's. */
  readonly asOf: Date | null;
  /** What the channel makes the message of. Sealed at rest, and deleted once nothing is owed. */
  readonly content: JsonObject;
  /** From when on the message is worth nothing: it is dropped instead of sent. */
  readonly expiresAt: Date;
  /** How long it waits before the first attempt; not at all unless given. */
  readonly delaySeconds?: number;
}

/** What a channel sends. */
export interface Delivery {
  readonly id: string;
  readonly appId: string;
  readonly kind: string;
  readonly recipient: string;
  readonly content: JsonObject;
  /** Attempts that failed before this one. */
  readonly attempts: number;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}
