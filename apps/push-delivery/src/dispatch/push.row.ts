import type { JsonObject, NOTIFICATION_STATUSES, PushMessage } from '#contracts';

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

/** A place in the order in which a push goes through installations: by partition, then by object id. */
export interface ScanPosition {
  readonly partition: number;
  readonly objectId: string;
}

/** A push under its lease. */
export interface PushJob extends Pick<
  NotificationRow,
  'appId' | 'objectId' | 'isBulk' | 'seq' | 'target' | 'message' | 'flowControl' | 'expiresAt' | 'counts'
> {
  /** The HTTP request that it was sent by, and the span; null where there was none. */
  readonly requestId: string | null;
  readonly traceparent: string | null;
  /** The last installation that is done. */
  readonly position: ScanPosition;
  /** Who works on it, as one claim named them. Nobody else's changes count. */
  readonly lease: string;
  /** Somebody has worked on it before, and may have done more than the position says. */
  readonly isResumed: boolean;
  /** How often working on it went wrong. */
  readonly failures: number;
}

/** How far a push has come, and how it ended if it did. */
export interface Progress extends Pick<PushJob, 'position' | 'counts'> {
  readonly isDone: boolean;
}

/** An installation that a push is for. */
export interface TargetedInstallation {
  readonly objectId: string;
  readonly partition: number;
  /** Null where no device has named itself: no way of delivery leads to it. */
  readonly installationId: string | null;
  readonly deviceType: string | null;
}
