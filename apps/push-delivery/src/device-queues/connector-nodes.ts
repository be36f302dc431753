import { randomUUID } from 'node:crypto';
import type { Clock } from '#bootstrap';
import type { SessionRef } from './device-queues.js';

/** A live connector process. */
export interface ConnectorNode {
  /** Unique for each start of a process. */
  readonly id: SessionRef['node'];
  /** The port for devices on its host. */
  readonly port: number;
}

/** The live connectors. The lease of a connector expires 10 seconds after its last heartbeat. All methods throw SERVICE_UNAVAILABLE if the store is unavailable. */
export interface ConnectorNodes {
  /**
   * Renews the lease of the node, every two seconds.
   * @returns the name of the data that the store holds now; a new name means that the store has lost data, sessions included
   */
  beat(node: ConnectorNode): Promise<string>;
  /** Ends the lease of the node. */
  leave(nodeId: string): Promise<void>;
  live(): Promise<ConnectorNode[]>;
  /** Expired nodes whose sessions must still be ended. Returns each node until `acknowledgeReaped`. */
  reapExpired(): Promise<string[]>;
  /** Records that the sessions of expired nodes are ended. A node that has returned since gets a new name of the data. */
  acknowledgeReaped(nodeIds: readonly string[]): Promise<void>;
}

/** DI token of the process's `ConnectorNodes`. */
export const CONNECTOR_NODES = Symbol('ConnectorNodes');

interface Lease {
  readonly node: ConnectorNode;
  readonly endsAtMs: number;
}

/** The only connector of the standalone server, the process itself. Its sessions end with the process. */
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

  /** A connector in the same process cannot be dead, even if its heartbeat is late. */
  reapExpired(): Promise<string[]> {
    return Promise.resolve([]);
  }

  acknowledgeReaped(): Promise<void> {
    return Promise.resolve();
  }
}
