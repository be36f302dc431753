import type { JsonObject, NOTIFICATION_STATUSES, PushMessage } from '#contracts';

/** The conditions were checked at the acceptance; the scan adds those on `valid` and the age. */
export interface PushTarget {
  readonly where: readonly JsonObject[];
  /** The message has no content for others. Absent: all. */
  readonly platforms?: readonly string[];
}

const UNIQUE_FIELDS = ['objectId', 'installationId'];

export function isForOneDevice({ where }: PushTarget): boolean {
  return where.some((condition) => UNIQUE_FIELDS.some((field) => typeof condition[field] === 'string'));
}

export type NotificationStatus = (typeof NOTIFICATION_STATUSES)[number];

/** The scan updates `targeted` and `unreachable`, `QueueStatistics` the others. `enqueued` counts each reachable device once. */
export interface PlatformCounts {
  readonly targeted: number;
  readonly unreachable: number;
  readonly enqueued: number;
  readonly acknowledged: number;
  readonly overflowed: number;
  readonly vendored?: number;
}

/** By platform: an installation's `deviceType`, or `unknown`. */
export type NotificationCounts = Readonly<Record<string, PlatformCounts>>;

export interface StoredMessage extends Pick<PushMessage, 'body' | 'bodies'> {
  readonly apns?: { readonly topic?: string; readonly teamId?: string };
  /** Android devices without a vendor's channel get nothing: the message has no text for them. */
  readonly isForVendorsOnly?: true;
}

export interface NewNotification {
  readonly requestId: string | null;
  readonly appId: string;
  readonly objectId: string;
  readonly notificationId: string | null;
  readonly target: PushTarget;
  readonly data: JsonObject;
  readonly message: StoredMessage;
  readonly prod: 'dev' | 'prod';
  /** Devices per second; null: no limit. */
  readonly flowControl: number | null;
  readonly dueAt: Date;
  readonly expiresAt: Date;
  readonly createdAt: Date;
}

export interface NotificationRow extends Omit<NewNotification, 'requestId'> {
  /** The order of pushes; also the number of a scheduled push, which gets a new one when it is due. */
  readonly seq: number;
  readonly status: NotificationStatus;
  readonly counts: NotificationCounts;
  readonly error: string | null;
  /** Null once the counts are final. */
  readonly nextStatisticsAt: Date | null;
  readonly updatedAt: Date;
}

export type ListedNotification = Omit<NotificationRow, 'seq' | 'message' | 'flowControl'>;

export interface ScanPosition {
  readonly partition: number;
  readonly objectId: string;
}

export interface PushJob extends Pick<
  NotificationRow,
  'appId' | 'objectId' | 'seq' | 'target' | 'message' | 'prod' | 'flowControl' | 'expiresAt' | 'counts'
> {
  readonly requestId: string | null;
  readonly traceparent: string | null;
  /** Whether its devices may have another channel than their own queue, or none. */
  readonly hasVendors: boolean;
  readonly position: ScanPosition;
  /** Changes under another lease have no effect. */
  readonly lease: string;
  /** An earlier run may have processed more than the position shows. */
  readonly isResumed: boolean;
  readonly failures: number;
}

export interface TargetedInstallation {
  readonly objectId: string;
  readonly partition: number;
  readonly installationId: string | null;
  readonly deviceType: string | null;
  readonly address?: VendorAddress;
  /** Absent: the device's own queue. */
  readonly lane?: string;
}

export interface VendorAddress {
  readonly hasToken: boolean;
  readonly hasRegistrationId: boolean;
  readonly hasSubscription: boolean;
  readonly vendor: string | null;
  readonly profile: string | null;
  readonly topic: string | null;
  readonly teamId: string | null;
}
