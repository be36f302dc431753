import { crc32 } from 'node:zlib';
import { PUSH_PARTITIONS, type PushMessage } from '#contracts';

/** The address of a device in connections and queues. */
export interface DeviceAddress {
  readonly appId: string;
  readonly installationId: string;
}

/**
 * The number of partitions of devices. All Redis keys of a device carry the hash tag of its partition, so one script can process many
 * devices of a partition, in a cluster too (ADR 21).
 */
export const PARTITIONS = PUSH_PARTITIONS;

/** The function must never change: queues and the column `partition` depend on it. */
export function partitionOf({ appId, installationId }: DeviceAddress): number {
  return crc32(`${appId}:${installationId}`) % PARTITIONS;
}

/** Sorts after every position in a partition: object ids consist of letters, digits, `-` and `_`, and are compared in byte order. */
export const BEHIND_ALL = '~';

/** A message in the queue of a device: the push's id, the device's platform, which chooses the body, and the expiry. */
export interface MessageRef {
  readonly id: string;
  readonly platform: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/** A session: the name of its connector, which contains no space, and the connector's id of the session. */
export interface SessionRef {
  readonly node: string;
  readonly session: string;
}

const RADIX = 36;
const SECOND_MS = 1_000;

/** The id of a session: its number, the second of its start, and its protocol. Only `openingOf` reads the parts. */
export function sessionIdOf(number: number, startedAt: Date, protocol: string): string {
  return `${number.toString(RADIX)}.${Math.floor(startedAt.getTime() / SECOND_MS).toString(RADIX)}.${protocol}`;
}

/** Start and protocol of a session; null where its id does not say them. */
export function openingOf({ session }: SessionRef): { readonly since: Date | null; readonly protocol: string | null } {
  const [, seconds = '', protocol = ''] = session.split('.');
  if (!/^[0-9a-z]{6,7}$/.test(seconds) || protocol === '') return { since: null, protocol: null };
  return { since: new Date(parseInt(seconds, RADIX) * SECOND_MS), protocol };
}

/** A device and its session. */
export interface DevicePresence {
  readonly device: DeviceAddress;
  readonly session: SessionRef;
}

/** A part of an application's sessions. */
export interface PresencePage {
  readonly sessions: readonly DevicePresence[];
  /** The place of the next page; undefined: none follows. */
  readonly next: PresencePlace | undefined;
}

/** A place among the sessions of an application: a partition, and the store's own cursor within it. */
export interface PresencePlace {
  readonly partition: number;
  readonly cursor: string;
}

/** The session and the queue of one device. */
export interface DeviceState {
  readonly session: SessionRef | undefined;
  /** Messages that have not expired. */
  readonly waiting: number;
  /** Drops that the device does not know of yet. */
  readonly dropped: number;
}

/** A target device of a push. */
export interface EnqueuedDevice {
  readonly installationId: string;
  readonly platform: string;
  /** The installation's object id: its position in the scan of a partition. */
  readonly position: string;
}

/** Devices of one partition and application, in ascending order of their positions. */
export interface EnqueueBatch {
  readonly message: PushMessage;
  readonly partition: number;
  readonly devices: readonly EnqueuedDevice[];
}

/** A device that has the message in its queue and is connected. */
export interface ConnectedDevice {
  readonly installationId: string;
  readonly platform: string;
  readonly node: string;
}

/** The oldest messages of a queue that have not expired. */
export interface QueuePage {
  readonly refs: readonly MessageRef[];
  /** The queue holds more messages. */
  readonly hasMore: boolean;
  /** The number of messages that a full queue has dropped and that the device does not know of yet. */
  readonly dropped: number;
  /** The position of the last of them: each drop has the next one, and a device's positions never repeat. 0 if there is none. */
  readonly droppedUpTo: number;
}

export interface ConnectOutcome {
  readonly page: QueuePage;
  /** The previous session of the device, on any connector. */
  readonly previous: SessionRef | undefined;
  /** How many times in a row, within a minute each, sessions of this device have ended each other. */
  readonly conflicts: number;
}

export interface Reassertion {
  /** The devices whose session is on another connector. */
  readonly elsewhere: readonly DeviceAddress[];
  /** The devices of which the store knew no session: connectors were not notified of their messages. */
  readonly restored: readonly DeviceAddress[];
}

export interface Acknowledgement {
  readonly device: DeviceAddress;
  readonly refs: readonly MessageRef[];
  /** The `droppedUpTo` of the latest gap that the device has acknowledged; 0 if there is none. */
  readonly reportedUpTo: number;
}

/** A push, by its application and id. */
export type MessageId = Pick<PushMessage, 'id' | 'appId'>;

/** The queues' delivery statistics of a push on one platform. */
export interface QueueStatistics {
  readonly enqueued: number;
  readonly acknowledged: number;
  readonly overflowed: number;
}

export interface DeviceQueueLimits {
  /** Limit of the messages in one queue; the oldest are dropped. */
  readonly queueLimit: number;
  /** Sessions of one device that end each other within this time are in conflict. */
  readonly conflictMs: number;
}

/**
 * The queues of unacknowledged messages, and the sessions of devices (ADR 20). A message is in the queue of each target device until
 * the device acknowledges it, whether the device is connected or not; messages between processes only wake connectors. Every
 * operation is atomic for each device, can be repeated, and throws SERVICE_UNAVAILABLE if the store is unavailable.
 */
export interface DeviceQueues {
  /** The number of parts of the store that can be unavailable independently of each other. */
  readonly shards: number;
  /** The number of the shard that holds the device's queue and session, from 0. */
  shardOf(device: DeviceAddress): number;
  /**
   * Adds a message to the queues, and drops the oldest messages over the limit, counted for their own push. Devices up to the last
   * position of an earlier call for the same push and partition are skipped, so a batch can be repeated.
   * @returns the connected devices that have the message in their queue, including skipped ones
   */
  enqueue(batch: EnqueueBatch): Promise<ConnectedDevice[]>;
  /** Makes the session the only one of the device. A message is either on the page, or its `enqueue` finds the session. */
  connect(device: DeviceAddress, session: SessionRef, limit: number): Promise<ConnectOutcome>;
  /**
   * Registers sessions again, as the store may have lost them. A device with a session on another connector keeps that session.
   * @param isAfterLoss the store may have returned to earlier data: of two sessions, the one that started later stays
   */
  reassert(sessions: readonly DevicePresence[], isAfterLoss: boolean): Promise<Reassertion>;
  /** Ends the sessions that are still the current ones of their devices. */
  disconnect(sessions: readonly DevicePresence[]): Promise<void>;
  /** The beginning of the queue, including messages in flight. */
  peek(device: DeviceAddress, limit: number): Promise<QueuePage>;
  /** Removes acknowledged messages, and counts each removal once. */
  acknowledge(acknowledgements: readonly Acknowledgement[]): Promise<void>;
  /** Drops messages whose bodies the store has lost, and counts them like those that a full queue drops. */
  discard(device: DeviceAddress, refs: readonly MessageRef[]): Promise<void>;
  /** The messages with these ids, in their order, each undefined if it does not exist or has expired; each read can fail by itself. */
  messages(ids: readonly string[]): Promise<PushMessage | undefined>[];
  /** Deletes the queues of devices. */
  clear(devices: readonly DeviceAddress[]): Promise<void>;
  /** The delivery statistics of pushes by platform, in the order of the pushes. The values only grow. */
  statistics(pushes: readonly MessageId[]): Promise<ReadonlyMap<string, QueueStatistics>[]>;
  /** As `statistics`, for lists of many pushes: values of the last two seconds, which only grow, too. */
  recentStatistics(pushes: readonly MessageId[]): Promise<ReadonlyMap<string, QueueStatistics>[]>;
  /**
   * Keeps `recentStatistics` up to date, where the store does not do that itself. One process at a time has an effect.
   * @returns whether more may be left
   */
  addUpStatistics(): Promise<boolean>;
  /** Deletes the statistics of a finished push. A batch that arrives within the next hour is skipped. */
  forget(push: MessageId): Promise<void>;
  /** The number of connected devices of an application. */
  countConnected(appId: string): Promise<number>;
  /** Some sessions of an application: at least `limit`, unless there are fewer, and all of one step of the store. */
  listConnected(appId: string, after: PresencePlace | undefined, limit: number): Promise<PresencePage>;
  /** The states of devices, in their order. */
  describe(devices: readonly DeviceAddress[]): Promise<DeviceState[]>;
  /** Ends all sessions of dead connectors. */
  endSessionsOf(nodes: readonly string[]): Promise<void>;
  /** Deletes a batch of expired data, if the store does not expire data itself. @returns whether more may remain */
  removeExpired(): Promise<boolean>;
}

/** DI token of the process's `DeviceQueues`. */
export const DEVICE_QUEUES = Symbol('DeviceQueues');

/** Runs tasks one after the other, in the order of their calls. */
export class SerialExecutor {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }
}

/** Groups items by a key, such as their partition. */
export function groupedBy<T, Key>(items: readonly T[], keyOf: (item: T) => Key): [Key, T[]][] {
  const groups = new Map<Key, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const together = groups.get(key);
    if (together === undefined) groups.set(key, [item]);
    else together.push(item);
  }
  return [...groups];
}

/** Splits a list into lists of this size. */
export function chunksOf<T>(items: readonly T[], size: number): (readonly T[])[] {
  const count = Math.ceil(items.length / size);
  return Array.from({ length: count }, (_, index) => items.slice(index * size, (index + 1) * size));
}
