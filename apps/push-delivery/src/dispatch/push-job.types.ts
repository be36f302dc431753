import type { NotificationRow } from '../notifications/notification.row.js';

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
