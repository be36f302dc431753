import type { JsonObject, NOTIFICATION_STATUSES, PushMessage } from '#contracts';
import type { PushTarget } from './target.types.js';

export type NotificationStatus = (typeof NOTIFICATION_STATUSES)[number];

/**
 * How a push stands on one platform. `targeted` and `unreachable` are counted by the scan, together with its cursor; the others
 * are copies of the queues' sums (`QueueTally`). `enqueued` counts neither who is unreachable nor anybody twice.
 */
export interface PlatformCounts {
  readonly targeted: number;
  readonly unreachable: number;
  readonly enqueued: number;
  readonly acknowledged: number;
  readonly overflowed: number;
}

/** By platform: an installation's `deviceType`, or `unknown`. The column `counts`. */
export type NotificationCounts = Readonly<Record<string, PlatformCounts>>;

/** What devices get, as JSON texts. The column `message`. */
export type MessageBodies = Pick<PushMessage, 'body' | 'bodies'>;

/** A push as it is accepted: the columns that never change. */
export interface NewNotification {
  /** The HTTP request that it was sent by; null where an operator did. */
  readonly requestId: string | null;
  readonly appId: string;
  readonly objectId: string;
  /** The name that the application gives it. */
  readonly notificationId: string | null;
  /** It may be for more than one device. */
  readonly isBulk: boolean;
  readonly target: PushTarget;
  /** The member `data` of the request, as it was sent. */
  readonly data: JsonObject;
  readonly message: MessageBodies;
  readonly prod: 'dev' | 'prod';
  /** Devices a second; null: as fast as it goes. */
  readonly flowControl: number | null;
  readonly dueAt: Date;
  readonly expiresAt: Date;
  readonly createdAt: Date;
}

/** A push as it is shown. */
export interface NotificationRow extends Omit<NewNotification, 'requestId'> {
  /** In the order in which pushes were accepted; the number of a scheduled one. */
  readonly seq: number;
  readonly status: NotificationStatus;
  readonly counts: NotificationCounts;
  /** Why the status is `error`. */
  readonly error: string | null;
  readonly updatedAt: Date;
}
