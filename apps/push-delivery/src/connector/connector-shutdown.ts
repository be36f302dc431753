import { setTimeout as sleep } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import { PUSH_DELIVERY_CONFIG, type PushDeliveryConfig } from '../push-delivery.config.js';
import { Connections } from './connections.js';
import { ConnectorPresence } from './connector-presence.js';
import { ConnectorService } from './connector.service.js';
import type { DeviceConnection } from './device-connection.js';
import { DeviceEndpoint } from './device-endpoint.js';
import { QueueWrites } from './queue-writes.js';

/** Closes per second of devices whose protocol has no reconnect time. */
const CLOSED_PER_SECOND = 1_000;
const STEP_MS = 100;
/** Limit of the closing handshake of a socket. */
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
    for (const connection of all) if (connection.framing.isOurs) this.#close(connection);
    const others = all.filter(({ framing }) => !framing.isOurs);
    const durationMs = Math.min(this.#reconnectMs, (others.length * 1_000) / CLOSED_PER_SECOND);
    const perStep = Math.ceil(others.length / Math.max(1, durationMs / STEP_MS));
    for (let start = 0; start < others.length; start += perStep) {
      if (start > 0) await sleep(STEP_MS);
      for (const connection of others.slice(start, start + perStep)) this.#close(connection);
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
