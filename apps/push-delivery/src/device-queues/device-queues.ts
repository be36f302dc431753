import { crc32 } from 'node:zlib';
import type { PushMessage } from '#contracts';

/** A device, as connections and queues know it. */
export interface DeviceAddress {
  readonly appId: string;
  readonly installationId: string;
}

/**
 * Devices are spread over so many partitions. Everything that Redis keeps of a device carries the hash tag of its
 * partition, so one script may move many devices of one partition, on a cluster too (ADR 21).
 */
export const PARTITIONS = 64;

/** Stays the same for ever: queues and the column `partition` are found by it. */
export function partitionOf({ appId, installationId }: DeviceAddress): number {
  return crc32(`${appId}:${installationId}`) % PARTITIONS;
}

/** Stands behind every position in a partition: object ids are letters, digits, `-` and `_`, and are compared by their bytes. */
export const BEHIND_ALL = '~';

/** A message in the queue of a device: the push's id and the device's platform, which chooses the body. */
export interface MessageRef {
  readonly id: string;
  readonly platform: string;
}

/** Which session a device is connected by: the connector's name, which holds no space, and what that calls the session. */
export interface SessionRef {
  readonly node: string;
  readonly session: string;
}

/** A device and the session that it is connected by. */
export interface DevicePresence {
  readonly device: DeviceAddress;
  readonly session: SessionRef;
}

/** One device that a push is for. */
export interface EnqueuedDevice {
  readonly installationId: string;
  readonly platform: string;
  /** The installation's object id: its place in the order in which a push goes through a partition. */
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

/** The oldest messages of a queue, as far as they have not expired. */
export interface QueuePage {
  readonly refs: readonly MessageRef[];
  /** There are more behind them. */
  readonly hasMore: boolean;
  /** Messages that a full queue has dropped, and that the device was not told of. */
  readonly dropped: number;
}

export interface ConnectOutcome {
  readonly page: QueuePage;
  /** The session that the device had until now, wherever it was. */
  readonly previous: SessionRef | undefined;
  /** How often in a row, within a minute each, sessions of this device have ended each other. */
  readonly conflicts: number;
}

export interface Acknowledgement {
  readonly device: DeviceAddress;
  readonly refs: readonly MessageRef[];
  /** Of `dropped`, how many the device was told of. */
  readonly droppedTold: number;
}

/** What became of a push on one platform, as the queues know it. */
export interface QueueTally {
  readonly enqueued: number;
  readonly acknowledged: number;
  readonly overflowed: number;
}

export interface DeviceQueueLimits {
  /** Messages that wait for one device; of more, the oldest are dropped. */
  readonly queueLimit: number;
  /** Sessions of one device that end each other within so many milliseconds are in conflict. */
  readonly conflictMs: number;
}

/**
 * The queues of messages that devices have not acknowledged, and where devices are connected (ADR 20). A message is in the
 * queue of each device that it is for until the device acknowledges it, whether the device is connected or not; what goes
 * from process to process are hints. Every move is atomic for each device. A store that cannot be reached says
 * SERVICE_UNAVAILABLE; every move may be made again after it.
 */
export interface DeviceQueues {
  /**
   * Puts a message into the queues, and drops the oldest of what is over the limit (counted for that message's push). Devices
   * up to the last position of an earlier call for the same push and partition are passed over, so a batch may come again.
   * @returns the devices that are connected and have the message in their queue, those passed over included
   */
  enqueue(batch: EnqueueBatch): Promise<ConnectedDevice[]>;
  /** Makes the session the device's only one; a message is on the page, or its enqueuing finds the session. */
  connect(device: DeviceAddress, session: SessionRef, limit: number): Promise<ConnectOutcome>;
  /**
   * Says again where devices are, after the store may have forgotten it. A device that is known to be elsewhere stays there.
   * @returns the devices that are no longer ours
   */
  reassert(sessions: readonly DevicePresence[]): Promise<DeviceAddress[]>;
  /** Ends the session, if it is still the device's. */
  disconnect(sessions: readonly DevicePresence[]): Promise<void>;
  /** The queue's beginning, messages on their way to the device included. */
  peek(device: DeviceAddress, limit: number): Promise<QueuePage>;
  /** Takes acknowledged messages out; counts each once, and those that are no longer there not at all. */
  acknowledge(acknowledgements: readonly Acknowledgement[]): Promise<void>;
  /** The messages with these ids, as far as they are there and have not expired. */
  messages(ids: readonly string[]): Promise<PushMessage[]>;
  /** Forgets what waits for a device. */
  clear(devices: readonly DeviceAddress[]): Promise<void>;
  /** How a push stands, by platform. Sums that only grow. */
  tally(message: Pick<PushMessage, 'id' | 'appId'>): Promise<ReadonlyMap<string, QueueTally>>;
  /** Forgets the tally; once the push is over. A batch that comes within an hour after it is passed over. */
  forget(message: Pick<PushMessage, 'id' | 'appId'>): Promise<void>;
  /** How many devices of an application are connected. */
  countConnected(appId: string): Promise<number>;
  /** Ends all sessions of connectors that are dead. */
  endSessionsOf(nodes: readonly string[]): Promise<void>;
  /** Takes a bite of what has expired, where the store does not do so by itself. @returns whether there may be more */
  removeExpired(): Promise<boolean>;
}

/** DI token of the process's `DeviceQueues`. */
export const DEVICE_QUEUES = Symbol('DeviceQueues');
