import { randomUUID } from 'node:crypto';
import type { Clock } from '#bootstrap';
import type { SessionRef } from './device-queues.js';

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

  constructor(
    private readonly clock: Clock,
    private readonly leaseMs: number,
  ) {}

  beat(node: ConnectorNode): Promise<string> {
    this.#leases.set(node.id, { node, endsAtMs: this.clock.now().getTime() + this.leaseMs });
    return Promise.resolve(this.#memory);
  }

  leave(nodeId: string): Promise<void> {
    this.#leases.delete(nodeId);
    return Promise.resolve();
  }

  live(): Promise<ConnectorNode[]> {
    const nowMs = this.clock.now().getTime();
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
