import { Inject, Injectable } from '@nestjs/common';
import { StrangerLimit } from '#admission';
import { connectorMessages } from '#contracts';
import { AppError } from '#errors';
import { NodeMessages } from '#messaging';
import type { DeviceAddress } from '../device-queues/device-address.js';
import { type ConnectOutcome, DEVICE_QUEUES, type DeviceQueues } from '../device-queues/device-queues.js';
import { ConnectorIdentity } from './connector-identity.js';
import { RecentDepartures } from './recent-departures.js';
import { CLOSE, UNKNOWN_APPLICATION } from './sessions/close-codes.js';
import type { Effect } from './sessions/effect.js';
import { Connections } from './sockets/connections.js';
import type { DeviceConnection } from './sockets/device-connection.js';
import { PAGE_LENGTH } from './store-access/queue-pages.js';
import { QueueWrites } from './store-access/queue-writes.js';

/** Makes a connection its device's only one, on this connector and on all others. */
@Injectable()
export class DeviceAdmission {
  readonly #departures = new RecentDepartures();

  constructor(
    private readonly strangers: StrangerLimit,
    @Inject(DEVICE_QUEUES) private readonly queues: DeviceQueues,
    private readonly identity: ConnectorIdentity,
    private readonly connections: Connections,
    private readonly nodeMessages: NodeMessages,
    private readonly writes: QueueWrites,
  ) {}

  /**
   * @returns what the store says of the device; undefined where the connection has ended
   * @throws AppError SERVICE_UNAVAILABLE; it may be asked for again
   */
  async admit(connection: DeviceConnection, device: DeviceAddress): Promise<ConnectOutcome | undefined> {
    const { session } = connection;
    connection.perform(await this.#refusal(connection, device));
    if (session.hasEnded()) return undefined;
    endSession(this.connections.claim(device, connection));
    await this.writes.acknowledged();
    const ref = this.identity.sessionRef(session.id);
    const outcome = await this.queues.connect(device, ref, PAGE_LENGTH);
    this.#evict(device, outcome);
    if (!session.hasEnded()) return outcome;
    // It has ended while the store was asked: what it said then came too early.
    this.writes.disconnect(device, ref);
    return undefined;
  }

  /** Whether the device had another session here until a moment ago. */
  wasHere(device: DeviceAddress, { previous }: ConnectOutcome): boolean {
    return previous?.node === this.identity.node || this.#departures.has(device, performance.now());
  }

  /** The device's session is over. */
  left(device: DeviceAddress, session: string): void {
    this.#departures.add(device, performance.now());
    this.writes.disconnect(device, this.identity.sessionRef(session));
  }

  /** Ends the device's session if it is the one that another connector means. */
  evicted(device: DeviceAddress, session: string): void {
    const connection = this.connections.find(device);
    if (connection?.session.id === session) endSession(connection);
  }

  async #refusal({ session, network }: DeviceConnection, { appId }: DeviceAddress): Promise<readonly Effect[]> {
    try {
      const exists = await this.strangers.exists(appId, network);
      return exists ? [] : session.refuse(CLOSE.unknownApplication, UNKNOWN_APPLICATION);
    } catch (error) {
      if (!(error instanceof AppError && error.is('TOO_MANY_REQUESTS'))) throw error;
      return session.refuse(CLOSE.tooFast, error.message);
    }
  }

  /** Where the other connector does not hear of it, that finds out by itself when it next says where its devices are. */
  #evict({ appId, installationId }: DeviceAddress, { previous }: ConnectOutcome): void {
    if (previous === undefined || previous.node === this.identity.node) return;
    const { node, session } = previous;
    void this.nodeMessages
      .send(node, connectorMessages.evict, { appId, installationId, session })
      .catch(() => undefined);
  }
}

/** Ends a session because its device has another one. */
export function endSession(connection: DeviceConnection | undefined): void {
  connection?.perform(connection.session.refuse(CLOSE.conflict, 'The device has logged in on another connection.'));
}
