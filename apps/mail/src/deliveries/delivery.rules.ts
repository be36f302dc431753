import type { JsonObject, ShownDelivery } from '#contracts';

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

/** A delivery as it is queued. */
export interface QueuedRow extends Omit<NewDelivery, 'content'> {
  readonly sealedContent: string;
  readonly delaySeconds: number;
}

/** A delivery that a sender has taken. */
export interface ClaimedRow {
  readonly id: string;
  /** Proves who has taken it. */
  readonly lease: string;
  readonly appId: string;
  readonly kind: string;
  readonly recipient: string;
  readonly sealedContent: string;
  readonly attempts: number;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  readonly isExpired: boolean;
  /** The span in which it was queued. */
  readonly traceparent: string | null;
}

/** What became of an attempt. `released`: it does not count, and everybody may take the delivery at once. */
export interface Settlement {
  readonly id: string;
  readonly lease: string;
  readonly outcome: 'sent' | 'failed' | 'dead' | 'released';
  readonly error: string | null;
  /** After which the next attempt may follow. */
  readonly delaySeconds: number;
}

/** A delivery as it is shown to operators. */
export interface LoggedRow {
  readonly id: string;
  readonly appId: string;
  readonly channel: ChannelName;
  readonly kind: string;
  readonly recipient: string;
  readonly userId: string | null;
  readonly status: ShownDelivery['status'];
  readonly attempts: number;
  readonly lastError: string | null;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  readonly nextAttemptAt: Date;
  readonly settledAt: Date | null;
}

const MAX_ERROR_LENGTH = 500;
/** After the first failure, the second, and so on; the longest one after all that follow. */
const RETRY_DELAYS_SECONDS = [5, 30, 120, 300] as const;
const LONGEST_DELAY_SECONDS = 900;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

/** What a delivery's content is sealed for. */
export function contentContext(id: string): string {
  return `delivery ${id}`;
}

/** @param attempts that failed before */
export function retryDelaySeconds(attempts: number): number {
  return RETRY_DELAYS_SECONDS[attempts] ?? LONGEST_DELAY_SECONDS;
}

/** How long a channel pauses whose server is out of reach. @param lastMs the pause before, 0 where it was there */
export function pauseMs(lastMs: number): number {
  return lastMs === 0 ? FIRST_PAUSE_MS : Math.min(lastMs * 2, LONGEST_PAUSE_MS);
}

/** An error's text as it is kept: in one line, without tokens that a server may have repeated, and storable. */
export function keptError(message: string): string {
  return message
    .replaceAll(/([?&]token=)[\w=.-]*/gi, '$1…')
    .replaceAll(/[\p{Cc}\p{Cs}\s]+/gu, ' ')
    .trim()
    .slice(0, MAX_ERROR_LENGTH)
    .toWellFormed();
}

/** By application, in the order of their ids: everybody who locks several applications' rows does it in this order. */
export function byApplication<Row extends { readonly appId: string }>(rows: readonly Row[]): [string, Row[]][] {
  const groups = new Map<string, Row[]>();
  for (const row of rows) groups.set(row.appId, [...(groups.get(row.appId) ?? []), row]);
  return [...groups].sort(([one], [other]) => (one < other ? -1 : 1));
}
