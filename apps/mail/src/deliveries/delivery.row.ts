import type { ShownDelivery } from '#contracts';
import type { ChannelName, NewDelivery } from './delivery.types.js';

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
