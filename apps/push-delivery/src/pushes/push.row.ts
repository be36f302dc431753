import type { JsonObject, NOTIFICATION_STATUSES, PushMessage } from '#contracts';

/**
 * The target of a push: the installations of its application that meet all conditions. The conditions were checked when the push
 * was accepted; the scan adds those on `valid` and the age.
 */
export interface PushTarget {
  /** The conditions of the request: `where`, channels, device ids. */
  readonly where: readonly JsonObject[];
  /** Only devices of these platforms: the message has no content for others. Absent: all. */
  readonly platforms?: readonly string[];
}

/** Fields whose value identifies at most one installation. */
const UNIQUE_FIELDS = ['objectId', 'installationId'];

/** Whether a push targets one device at most. */
export function isForOneDevice({ where }: PushTarget): boolean {
  return where.some((condition) => UNIQUE_FIELDS.some((field) => typeof condition[field] === 'string'));
}

export type NotificationStatus = (typeof NOTIFICATION_STATUSES)[number];

/**
 * The counts of a push on one platform. The scan updates `targeted` and `unreachable` together with its cursor; the others are
 * copies of the queues' statistics (`QueueStatistics`). `enqueued` counts each reachable device once.
 */
export interface PlatformCounts {
  readonly targeted: number;
  readonly unreachable: number;
  readonly enqueued: number;
  readonly acknowledged: number;
  readonly overflowed: number;
  /** Devices that channels of vendors take. Absent if there are none. */
  readonly vendored?: number;
}

/** By platform: an installation's `deviceType`, or `unknown`. The column `counts`. */
export type NotificationCounts = Readonly<Record<string, PlatformCounts>>;

/** The bodies for devices as JSON texts. The column `message`. */
export type MessageBodies = Pick<PushMessage, 'body' | 'bodies'>;

/** The column `message` of a push. */
export interface StoredMessage extends MessageBodies {
  /** The app on Apple devices that the request names. */
  readonly apns?: { readonly topic?: string; readonly teamId?: string };
}

/** An accepted push: the columns that never change. */
export interface NewNotification {
  /** The id of the HTTP request; null for a push sent by an operator. */
  readonly requestId: string | null;
  readonly appId: string;
  readonly objectId: string;
  /** The application's own name for the push. */
  readonly notificationId: string | null;
  readonly target: PushTarget;
  /** The member `data` of the request, unchanged. */
  readonly data: JsonObject;
  readonly message: StoredMessage;
  readonly prod: 'dev' | 'prod';
  /** Devices per second; null: no limit. */
  readonly flowControl: number | null;
  readonly dueAt: Date;
  readonly expiresAt: Date;
  readonly createdAt: Date;
}

/** A push as responses show it. */
export interface NotificationRow extends Omit<NewNotification, 'requestId'> {
  /** The order of pushes; also the number of a scheduled push, which gets a new one when it is due. */
  readonly seq: number;
  readonly status: NotificationStatus;
  readonly counts: NotificationCounts;
  /** The reason of the status `error`. */
  readonly error: string | null;
  /** When a finished push gets a copy of the queues' statistics; null once its counts are final. */
  readonly nextStatisticsAt: Date | null;
  readonly updatedAt: Date;
}

/** The part of a push that lists show. */
export type ListedNotification = Omit<NotificationRow, 'seq' | 'message' | 'flowControl'>;

/** A position in the scan of installations: by partition, then by object id. */
export interface ScanPosition {
  readonly partition: number;
  readonly objectId: string;
}

/** A large push under its lease. */
export interface PushJob extends Pick<
  NotificationRow,
  'appId' | 'objectId' | 'seq' | 'target' | 'message' | 'prod' | 'flowControl' | 'expiresAt' | 'counts'
> {
  /** The id of the HTTP request, and its span; null if there was none. */
  readonly requestId: string | null;
  readonly traceparent: string | null;
  /** The application has credentials for channels of vendors. */
  readonly hasVendors: boolean;
  /** The last installation that was processed. */
  readonly position: ScanPosition;
  /** The name that a claim gave to the lease. Changes under another lease have no effect. */
  readonly lease: string;
  /** An earlier run exists, and may have processed more than the position shows. */
  readonly isResumed: boolean;
  /** The number of failed attempts. */
  readonly failures: number;
}

/** A target installation of a push. */
export interface TargetedInstallation {
  readonly objectId: string;
  readonly partition: number;
  /** Null for a device without an id: no connection can reach it. */
  readonly installationId: string | null;
  readonly deviceType: string | null;
  /** Absent if the application has no channels of vendors. */
  readonly address?: VendorAddress;
  /** The lane of the vendor that takes the device. Absent: the device's own queue. */
  readonly lane?: string;
}

/** The fields of an installation that address the push service of a vendor. Clients write them. */
export interface VendorAddress {
  /** It has a `deviceToken`. */
  readonly hasToken: boolean;
  readonly hasRegistrationId: boolean;
  /** It has a subscription of a browser (`webPush`). */
  readonly hasSubscription: boolean;
  readonly vendor: string | null;
  readonly profile: string | null;
  readonly topic: string | null;
  readonly teamId: string | null;
}
