import { crc32 } from 'node:zlib';
import { PUSH_PARTITIONS, type PushMessage } from '#contracts';

export interface DeviceAddress {
  readonly appId: string;
  readonly installationId: string;
}

/** Redis keys carry the hash tag of their device's partition, so one script can process many devices of it, in a cluster too (ADR 21). */
export const PARTITIONS = PUSH_PARTITIONS;

/** Must never change: queues and the column `partition` depend on it. */
export function partitionOf({ appId, installationId }: DeviceAddress): number {
  return crc32(`${appId}:${installationId}`) % PARTITIONS;
}

/** Sorts after every position: object ids consist of letters, digits, `-` and `_`, compared in byte order. */
export const BEHIND_ALL = '~';

export interface MessageRef {
  readonly id: string;
  readonly platform: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

export interface SessionRef {
  readonly node: string;
  readonly session: string;
}

const RADIX = 36;
const SECOND_MS = 1_000;

/** Only `openingOf` reads the parts. */
export function sessionIdOf(number: number, startedAt: Date, protocol: string): string {
  return `${number.toString(RADIX)}.${Math.floor(startedAt.getTime() / SECOND_MS).toString(RADIX)}.${protocol}`;
}

export function openingOf({ session }: SessionRef): { readonly since: Date | null; readonly protocol: string | null } {
  const [, seconds = '', protocol = ''] = session.split('.');
  if (!/^[0-9a-z]{6,7}$/.test(seconds) || protocol === '') return { since: null, protocol: null };
  return { since: new Date(parseInt(seconds, RADIX) * SECOND_MS), protocol };
}

export interface DevicePresence {
  readonly device: DeviceAddress;
  readonly session: SessionRef;
}

export interface PresencePage {
  readonly sessions: readonly DevicePresence[];
  readonly next: PresencePlace | undefined;
}

export interface PresencePlace {
  readonly partition: number;
  readonly cursor: string;
}

export interface DeviceState {
  readonly session: SessionRef | undefined;
  readonly waiting: number;
  /** Drops that the device does not know of yet. */
  readonly dropped: number;
}

export interface EnqueuedDevice {
  readonly installationId: string;
  readonly platform: string;
  readonly position: string;
}

/** Devices of one partition and application, by ascending position. */
export interface EnqueueBatch {
  readonly message: PushMessage;
  readonly partition: number;
  readonly devices: readonly EnqueuedDevice[];
}

export interface ConnectedDevice {
  readonly installationId: string;
  readonly platform: string;
  readonly node: string;
}

/** The oldest messages that have not expired. */
export interface QueuePage {
  readonly refs: readonly MessageRef[];
  readonly hasMore: boolean;
  readonly dropped: number;
  /** The position of the last drop, 0 if there is none. Each drop has the next position; they never repeat. */
  readonly droppedUpTo: number;
}

export interface ConnectOutcome {
  readonly page: QueuePage;
  readonly previous: SessionRef | undefined;
  /** How often in a row, within a minute each, sessions of this device have ended each other. */
  readonly conflicts: number;
}

export interface Reassertion {
  /** Their session is on another connector. */
  readonly elsewhere: readonly DeviceAddress[];
  /** The store knew no session of theirs: connectors were not notified of their messages. */
  readonly restored: readonly DeviceAddress[];
}

export interface Acknowledgement {
  readonly device: DeviceAddress;
  readonly refs: readonly MessageRef[];
  /** The `droppedUpTo` of the latest gap that the device has acknowledged; 0 if there is none. */
  readonly reportedUpTo: number;
}

export type MessageId = Pick<PushMessage, 'id' | 'appId'>;

export interface QueueStatistics {
  readonly enqueued: number;
  readonly acknowledged: number;
  readonly overflowed: number;
}

export interface DeviceQueueLimits {
  /** Messages in one queue; the oldest are dropped. */
  readonly queueLimit: number;
  /** Sessions of one device that end each other within this time are in conflict. */
  readonly conflictMs: number;
}

/** Queues of unacknowledged messages, and sessions (ADR 20). An operation is atomic per device, can be repeated, and throws SERVICE_UNAVAILABLE. */
export interface DeviceQueues {
  /** Parts of the store that can be unavailable independently of each other. */
  readonly shards: number;
  shardOf(device: DeviceAddress): number;
  /** A repetition skips the devices up to the last position of the push in the partition. @returns the connected devices with the message, skipped ones too */
  enqueue(batch: EnqueueBatch): Promise<ConnectedDevice[]>;
  /** Ends other sessions of the device. A message is either on the page, or its `enqueue` finds the session. */
  connect(device: DeviceAddress, session: SessionRef, limit: number): Promise<ConnectOutcome>;
  /** A session on another connector stays. @param isAfterLoss the store may have lost data: of two sessions, the later one stays */
  reassert(sessions: readonly DevicePresence[], isAfterLoss: boolean): Promise<Reassertion>;
  /** Only sessions that are still the current ones of their devices. */
  disconnect(sessions: readonly DevicePresence[]): Promise<void>;
  peek(device: DeviceAddress, limit: number): Promise<QueuePage>;
  /** Counts each removal once. */
  acknowledge(acknowledgements: readonly Acknowledgement[]): Promise<void>;
  /** For messages whose bodies the store has lost: they count like those that a full queue drops. */
  discard(device: DeviceAddress, refs: readonly MessageRef[]): Promise<void>;
  /** In the order of the ids; undefined if a message does not exist or has expired. Each read can fail by itself. */
  messages(ids: readonly string[]): Promise<PushMessage | undefined>[];
  clear(devices: readonly DeviceAddress[]): Promise<void>;
  /** By platform, in the order of the pushes. The values only grow. */
  statistics(pushes: readonly MessageId[]): Promise<ReadonlyMap<string, QueueStatistics>[]>;
  /** For lists of many pushes: `statistics` of the last two seconds; these values only grow, too. */
  recentStatistics(pushes: readonly MessageId[]): Promise<ReadonlyMap<string, QueueStatistics>[]>;
  /** Updates `recentStatistics` where the store does not do that itself; one process at a time. @returns whether more may be left */
  addUpStatistics(): Promise<boolean>;
  /** Deletes the statistics of a finished push; batches that arrive within the next hour are skipped. */
  forget(push: MessageId): Promise<void>;
  countConnected(appId: string): Promise<number>;
  /** By application; those without sessions may be missing. */
  countAllConnected(): Promise<ReadonlyMap<string, number>>;
  /** At least `limit`, unless there are fewer, and all of one step of the store. */
  listConnected(appId: string, after: PresencePlace | undefined, limit: number): Promise<PresencePage>;
  describe(devices: readonly DeviceAddress[]): Promise<DeviceState[]>;
  endSessionsOf(nodes: readonly string[]): Promise<void>;
  /** Does nothing where the store expires data itself. @returns whether more may remain */
  removeExpired(): Promise<boolean>;
}

export const DEVICE_QUEUES = Symbol('DeviceQueues');
