import type { DeliveryAttempt, JsonObject, ShownDelivery } from '#contracts';

export type ChannelName = 'mail' | 'sms';

export interface NewDelivery {
  /** The id of the event that requested it, the same for every attempt. */
  readonly id: string;
  readonly appId: string;
  readonly channel: ChannelName;
  readonly kind: string;
  readonly recipient: string;
  /** Set if a mail may only be sent while the recipient is the address of this user, or if a code is for this user only. */
  readonly userId: string | null;
  /** When the recipient was known to be the address of the user, or when the code was created. */
  readonly asOf: Date | null;
  /** The input from which the channel builds the message. Sealed at rest, and deleted once the message is sent or dropped. */
  readonly content: JsonObject;
  readonly expiresAt: Date;
  readonly delaySeconds?: number;
}

export interface Delivery {
  readonly id: string;
  readonly appId: string;
  readonly kind: string;
  readonly recipient: string;
  readonly content: JsonObject;
  readonly attempts: number;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

export interface QueuedRow extends Omit<NewDelivery, 'content'> {
  readonly sealedContent: string;
  readonly delaySeconds: number;
}

export interface ClaimedRow {
  readonly id: string;
  readonly lease: string;
  readonly appId: string;
  readonly kind: string;
  readonly recipient: string;
  readonly sealedContent: string;
  readonly attempts: number;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  readonly isExpired: boolean;
  readonly traceparent: string | null;
  /** The start of the window in which the limit of the application has counted it; absent without a limit. */
  readonly countedIn?: Date;
}

/** The result of an attempt. `released`: the attempt does not count, and the delivery can be claimed again at once. */
export interface Settlement {
  readonly id: string;
  readonly lease: string;
  readonly outcome: 'sent' | 'failed' | 'dead' | 'released';
  readonly error: string | null;
  readonly delaySeconds: number;
  /** As in the claimed row; `released` deliveries give back what was counted. */
  readonly countedIn?: Date;
}

export interface LoggedRow {
  readonly id: string;
  readonly appId: string;
  readonly channel: ChannelName;
  readonly kind: string;
  readonly recipient: string;
  readonly userId: string | null;
  readonly status: ShownDelivery['status'];
  readonly attempts: number;
  readonly attemptLog: readonly DeliveryAttempt[];
  readonly lastError: string | null;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  readonly nextAttemptAt: Date;
  readonly settledAt: Date | null;
}

export interface RecipientRow {
  readonly email: string | null;
  readonly changedAt: Date;
}

const MAX_ERROR_LENGTH = 500;
/** After the first failure, the second, and so on; `LONGEST_DELAY_SECONDS` after all later ones. */
const RETRY_DELAYS_SECONDS = [5, 30, 120, 300] as const;
const LONGEST_DELAY_SECONDS = 900;

export function contentContext(id: string): string {
  return `delivery ${id}`;
}

export function retryDelaySeconds(attempts: number): number {
  return RETRY_DELAYS_SECONDS[attempts] ?? LONGEST_DELAY_SECONDS;
}

/** An error text for storage: one line, valid Unicode, without tokens that a server may have repeated. */
export function storedErrorText(message: string): string {
  return message
    .replaceAll(/([?&]token=|\/invitation#)[\w=.-]*/gi, '$1…')
    .replaceAll(/[\p{Cc}\p{Cs}\s]+/gu, ' ')
    .trim()
    .slice(0, MAX_ERROR_LENGTH)
    .toWellFormed();
}

/** Groups rows by application, ordered by application id. All processes lock rows of applications in this order. */
export function byApplication<Row extends { readonly appId: string }>(rows: readonly Row[]): [string, Row[]][] {
  const groups = new Map<string, Row[]>();
  for (const row of rows) groups.set(row.appId, [...(groups.get(row.appId) ?? []), row]);
  return [...groups].sort(([one], [other]) => (one < other ? -1 : 1));
}
