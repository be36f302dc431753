import { randomUUID } from 'node:crypto';
import type { Clock } from '#bootstrap';
import type { SessionRef } from './device-queues.js';

/** A connector process that lives. */
export interface ConnectorNode {
  /** Unique for each start of a process. */
  readonly id: SessionRef['node'];
  /** Where devices reach it, on the host it runs on. */
  readonly port: number;
}

/** The connectors that live. One that says nothing for 10 seconds is gone. A store that cannot be reached says SERVICE_UNAVAILABLE. */
export interface ConnectorNodes {
  /**
   * Says that the node lives; every two seconds.
   * @returns the name of the memory that the queues have now: another one than before means that it was lost, and with it where devices are
   */
  beat(node: ConnectorNode): Promise<string>;
  /** Says that the node is gone. */
  leave(nodeId: string): Promise<void>;
  live(): Promise<ConnectorNode[]>;
  /** Nodes that are gone and whose sessions are still to be ended; the same ones again until they are buried. */
  reapExpired(): Promise<string[]>;
  /** Says that the sessions of nodes that were dead are ended. One that came to life meanwhile finds that its memory was lost. */
  acknowledgeDropped(nodeIds: readonly string[]): Promise<void>;
}

/** DI token of the process's `ConnectorNodes`. */
export const CONNECTOR_NODES = Symbol('ConnectorNodes');

interface Lease {
  readonly node: ConnectorNode;
  readonly endsAtMs: number;
}

/** The connectors of the standalone server: itself. What it knows of its sessions is lost with it. */
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

  /** A connector in the same process is never dead, however late it beats. */
  reapExpired(): Promise<string[]> {
    return Promise.resolve([]);
  }

  acknowledgeDropped(): Promise<void> {
    return Promise.resolve();
  }
}
