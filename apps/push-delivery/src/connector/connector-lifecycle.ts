import type { Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { chunksOf } from '#bootstrap';
import { messageOf } from '#errors';
import { CONNECTOR_NODES, type ConnectorNodes } from '../device-queues/connector-nodes.js';
import { DEVICE_QUEUES, type DeviceAddress, type DeviceQueues } from '../device-queues/device-queues.js';
import { PUSH_DELIVERY_CONFIG, type PushDeliveryConfig } from '../push-delivery.config.js';
import { Connections, ConnectorIdentity } from './connections.js';
import { ConnectorService } from './connector.service.js';
import { endSession } from './device-admission.js';
import type { DeviceConnection } from './device-connection.js';
import { DeviceEndpoint } from './device-endpoint.js';
import { QueueWrites } from './queue-writes.js';

const BEAT_MS = 2_000;
/** Longest interval between reassertions, which also end sessions whose device has moved to another connector. */
const REASSERT_MS = 60_000;
const REASSERTED_AT_ONCE = 500;

/** Heartbeats of this connector. Not a `PeriodicJob`, because the first heartbeat is due as soon as the server listens. */
@Injectable()
export class ConnectorPresence implements OnApplicationBootstrap {
  readonly #logger = new Logger('ConnectorPresence');
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
      if (!this.#isAway) this.#logger.warn(`the store of the queues is unavailable: ${messageOf(error)}`);
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
      this.#logger.warn(`sessions could not be reasserted: ${messageOf(error)}`);
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

/** Closes per second of devices whose protocol has no reconnect time. */
const CLOSED_PER_SECOND = 1_000;
const STEP_MS = 100;
const CLOSE_LIMIT_MS = 2_000;
const POLL_MS = 20;

/** Stops a connector: its devices reconnect to others, spread over time, and their acknowledgements are recorded. */
@Injectable()
export class ConnectorShutdown implements BeforeApplicationShutdown {
  readonly #reconnectMs: number;

  constructor(
    @Inject(PUSH_DELIVERY_CONFIG) config: PushDeliveryConfig,
    private readonly endpoint: DeviceEndpoint,
    private readonly presence: ConnectorPresence,
    private readonly connections: Connections,
    private readonly connector: ConnectorService,
    private readonly writes: QueueWrites,
  ) {
    this.#reconnectMs = config.connector.reconnectSeconds * 1_000;
  }

  /** Runs before the HTTP server closes, because the server waits for every socket. */
  async beforeApplicationShutdown(): Promise<void> {
    this.endpoint.close();
    await this.presence.leave();
    await this.#goAway();
    await this.#untilGone();
    this.connector.stop();
    await this.writes.close();
  }

  async #goAway(): Promise<void> {
    const all = [...this.connections.all()];
    for (const connection of all) if (connection.framing.hasGatepostExtensions) this.#close(connection);
    const others = all.filter(({ framing }) => !framing.hasGatepostExtensions);
    const durationMs = Math.min(this.#reconnectMs, (others.length * 1_000) / CLOSED_PER_SECOND);
    const perStep = Math.ceil(others.length / Math.max(1, durationMs / STEP_MS));
    for (const [step, some] of chunksOf(others, perStep).entries()) {
      if (step > 0) await sleep(STEP_MS);
      for (const connection of some) this.#close(connection);
    }
  }

  #close(connection: DeviceConnection): void {
    const retryAfterMs = Math.round(Math.random() * this.#reconnectMs);
    connection.perform(connection.session.goAway(retryAfterMs));
  }

  async #untilGone(): Promise<void> {
    const deadline = performance.now() + CLOSE_LIMIT_MS;
    while (this.connections.count > 0 && performance.now() < deadline) await sleep(POLL_MS);
    for (const connection of this.connections.all()) connection.terminate();
    // The close events follow in the next turns of the event loop.
    while (this.connections.count > 0 && performance.now() < deadline + CLOSE_LIMIT_MS) await sleep(POLL_MS);
  }
}
