import { randomUUID } from 'node:crypto';
import { chunksOf, groupedBy } from '#bootstrap';
import type { connectorMessages, DirectMessagePayload, PushMessage } from '#contracts';
import type { ConnectedDevice, SessionRef } from './device-queues.js';

export interface ConnectorNode {
  readonly id: SessionRef['node'];
  readonly port: number;
}

/** A lease expires 10 seconds after the last heartbeat. Every method throws SERVICE_UNAVAILABLE if the store is unavailable. */
export interface ConnectorNodes {
  /** Renews the lease, every two seconds. @returns the name of the store's data: a new name means that data was lost, sessions included */
  beat(node: ConnectorNode): Promise<string>;
  leave(nodeId: string): Promise<void>;
  live(): Promise<ConnectorNode[]>;
  /** Returns expired nodes, whose sessions must still be ended, until `acknowledgeReaped`. */
  reapExpired(): Promise<string[]>;
  /** A node that has returned meanwhile gets a new name of the data. */
  acknowledgeReaped(nodeIds: readonly string[]): Promise<void>;
}

export const CONNECTOR_NODES = Symbol('ConnectorNodes');

interface Lease {
  readonly node: ConnectorNode;
  readonly endsAtMs: number;
}

/** The only connector of the standalone server is the process itself: its sessions end with it. */
export class MemoryConnectorNodes implements ConnectorNodes {
  readonly #memory = randomUUID();
  readonly #leases = new Map<string, Lease>();

  constructor(private readonly leaseMs: number) {}

  beat(node: ConnectorNode): Promise<string> {
    this.#leases.set(node.id, { node, endsAtMs: performance.now() + this.leaseMs });
    return Promise.resolve(this.#memory);
  }

  leave(nodeId: string): Promise<void> {
    this.#leases.delete(nodeId);
    return Promise.resolve();
  }

  live(): Promise<ConnectorNode[]> {
    const nowMs = performance.now();
    const live = [...this.#leases.values()].filter(({ endsAtMs }) => endsAtMs > nowMs);
    return Promise.resolve(live.map(({ node }) => node));
  }

  /** A connector in the same process is alive, even if its heartbeat is late. */
  reapExpired(): Promise<string[]> {
    return Promise.resolve([]);
  }

  acknowledgeReaped(): Promise<void> {
    return Promise.resolve();
  }
}

export interface WakeUp {
  readonly message: PushMessage;
  readonly devices: readonly ConnectedDevice[];
  readonly isRepeated: boolean;
  /** The `performance.now()` before the queues were written. */
  readonly enqueuedAt: number;
  readonly traceparent: string | undefined;
}

type Notification = DirectMessagePayload<typeof connectorMessages.deliver>;

export interface NodeWakeUp {
  readonly wakeUp: WakeUp;
  readonly devices: readonly ConnectedDevice[];
}

export type NotificationsByNode = ReadonlyMap<string, readonly (readonly NodeWakeUp[])[]>;

/** Afterwards the queue decides, as the device may have the message. Connectors distrust wake-ups for ten seconds after a login. */
const FRESH_MS = 5_000;
/** Even with the longest ids so many fit into a message of the broker. */
const MAX_TARGETS = 10_000;

export function wakeUpNow({ wakeUp, devices }: NodeWakeUp): Notification['wakeUps'][number] {
  const { message, isRepeated, enqueuedAt, traceparent } = wakeUp;
  const isLate = performance.now() - enqueuedAt > FRESH_MS;
  return { message, targets: targetsOf(devices), isRepeated: isRepeated || isLate, traceparent };
}

export function byNode(wakeUps: readonly WakeUp[]): NotificationsByNode {
  const parts = wakeUps.flatMap((wakeUp) =>
    groupedBy(wakeUp.devices, ({ node }) => node).flatMap(([node, devices]) =>
      chunksOf(devices, MAX_TARGETS).map((some) => ({ node, wakeUp, devices: some })),
    ),
  );
  return new Map(groupedBy(parts, ({ node }) => node).map(([node, own]) => [node, notificationsOf(own)]));
}

/** Consecutive wake-ups share a notification while their devices are few enough. */
function notificationsOf(wakeUps: readonly NodeWakeUp[]): NodeWakeUp[][] {
  const notifications: NodeWakeUp[][] = [];
  let room = 0;
  for (const wakeUp of wakeUps) {
    const count = wakeUp.devices.length;
    const last = count <= room ? notifications.at(-1) : undefined;
    room = (last === undefined ? MAX_TARGETS : room) - count;
    if (last === undefined) notifications.push([wakeUp]);
    else last.push(wakeUp);
  }
  return notifications;
}

function targetsOf(devices: readonly ConnectedDevice[]): Notification['wakeUps'][number]['targets'] {
  return groupedBy(devices, ({ platform }) => platform).map(([platform, own]) => [
    platform,
    own.map(({ installationId }) => installationId),
  ]);
}
