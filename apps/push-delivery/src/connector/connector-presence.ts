import type { Server } from 'node:http';
import { Inject, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { chunksOf } from '#bootstrap';
import { messageOf } from '#errors';
import { CONNECTOR_NODES, type ConnectorNodes } from '../device-queues/connector-nodes.js';
import { DEVICE_QUEUES, type DeviceAddress, type DeviceQueues } from '../device-queues/device-queues.js';
import { Connections, ConnectorIdentity } from './connections.js';
import { endSession } from './device-admission.js';
import type { DeviceConnection } from './device-connection.js';

const BEAT_MS = 2_000;
/** Longest interval between reassertions, which also end sessions whose device has moved to another connector. */
const REASSERT_MS = 60_000;
const REASSERTED_AT_ONCE = 500;

/** Heartbeats of this connector. Not a `PeriodicJob`, because the first heartbeat is due as soon as the server listens. */
@Injectable()
export class ConnectorPresence implements OnApplicationBootstrap {
  private readonly logger = new Logger('ConnectorPresence');
  #epoch: string | undefined;
  /** Counts outages and data losses of the store; `#handledStoreLosses` counts those followed by a reassertion. */
  #storeLosses = 0;
  #handledStoreLosses = 0;
  #isAway = false;
  #isReasserting = false;
  #reassertedMs = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(
    @Inject(CONNECTOR_NODES) private readonly nodes: ConnectorNodes,
    @Inject(DEVICE_QUEUES) private readonly queues: DeviceQueues,
    private readonly http: HttpAdapterHost,
    private readonly identity: ConnectorIdentity,
    private readonly connections: Connections,
  ) {}

  onApplicationBootstrap(): void {
    const server = this.http.httpAdapter.getHttpServer() as Server;
    if (server.listening) void this.#beat(server);
    else server.once('listening', () => void this.#beat(server));
  }

  /** Withdraws this connector, so that no device is directed to it. */
  async leave(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    // An unavailable store drops the connector when its lease expires.
    await this.nodes.leave(this.identity.node).catch(() => undefined);
  }

  async #beat(server: Server): Promise<void> {
    try {
      const { port } = server.address() as { port: number };
      const epoch = await this.nodes.beat({ id: this.identity.node, port });
      if (this.#isAway || (this.#epoch !== undefined && this.#epoch !== epoch)) this.#storeLosses += 1;
      this.#isAway = false;
      this.#epoch = epoch;
      // Not awaited: it may take longer than the interval of heartbeats.
      void this.#reassert();
    } catch (error) {
      if (!this.#isAway) this.logger.warn(`the store of the queues is unavailable: ${messageOf(error)}`);
      this.#isAway = true;
    }
    if (!this.#isStopped) this.#timer = setTimeout(() => void this.#beat(server), BEAT_MS);
  }

  async #reassert(): Promise<void> {
    const [losses, nowMs] = [this.#storeLosses, performance.now()];
    const isAfterLoss = losses > this.#handledStoreLosses;
    if (this.#isReasserting || (!isAfterLoss && nowMs - this.#reassertedMs < REASSERT_MS)) return;
    this.#isReasserting = true;
    try {
      await this.#reassertAll(isAfterLoss);
      if (isAfterLoss) this.connections.resyncAll();
      this.#handledStoreLosses = losses;
      this.#reassertedMs = nowMs;
    } catch (error) {
      this.logger.warn(`sessions could not be reasserted: ${messageOf(error)}`);
    } finally {
      this.#isReasserting = false;
    }
  }

  async #reassertAll(isAfterLoss: boolean): Promise<void> {
    const open = [...this.connections.all()].filter(({ session }) => session.isOpen);
    for (const some of chunksOf(open, REASSERTED_AT_ONCE)) await this.#reassertSome(some, isAfterLoss);
  }

  async #reassertSome(connections: readonly DeviceConnection[], isAfterLoss: boolean): Promise<void> {
    const sessions = connections.flatMap(({ session: { device, id, isOpen } }) =>
      device === undefined || !isOpen ? [] : [{ device, session: this.identity.sessionRef(id) }],
    );
    const { elsewhere, restored } = await this.queues.reassert(sessions, isAfterLoss);
    for (const connection of this.#among(connections, elsewhere)) endSession(connection);
    // Messages may have arrived while the store did not know the session.
    for (const connection of this.#among(connections, restored)) connection.perform(connection.session.resync());
  }

  /** The connections of these devices. Those opened after the reassertion are left alone. */
  #among(reasserted: readonly DeviceConnection[], devices: readonly DeviceAddress[]): DeviceConnection[] {
    const found = new Set(devices.map((device) => this.connections.find(device)));
    return reasserted.filter((connection) => found.has(connection));
  }
}
