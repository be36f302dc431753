import { randomUUID } from 'node:crypto';
import type { Clock } from '#bootstrap';
import type { ConnectorNode, ConnectorNodes } from './connector-nodes.js';

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
  takeDead(): Promise<string[]> {
    return Promise.resolve([]);
  }

  bury(): Promise<void> {
    return Promise.resolve();
  }
}
