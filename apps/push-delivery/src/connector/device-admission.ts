import { Inject, Injectable } from '@nestjs/common';
import { FailedCredentialLimit } from '#admission';
import { connectorMessages } from '#contracts';
import { isAppError } from '#errors';
import { DirectMessages } from '#messaging';
import {
  type ConnectOutcome,
  DEVICE_QUEUES,
  type DeviceAddress,
  type DeviceQueues,
} from '../device-queues/device-queues.js';
import { Connections, ConnectorIdentity } from './connections.js';
import type { DeviceConnection } from './device-connection.js';
import { QueueWrites } from './queue-writes.js';
import { CLOSE, type Effect, UNKNOWN_APPLICATION } from './session-effects.js';

/** Messages per page: more than fit into the window of a device. */
export const PAGE_LENGTH = 64;

/** Makes a connection the only one of its device, on this connector and on all others. */
@Injectable()
export class DeviceAdmission {
  readonly #departures = new RecentDepartures();

  constructor(
    private readonly credentials: FailedCredentialLimit,
    @Inject(DEVICE_QUEUES) private readonly queues: DeviceQueues,
    private readonly identity: ConnectorIdentity,
    private readonly connections: Connections,
    private readonly directMessages: DirectMessages,
    private readonly writes: QueueWrites,
  ) {}

  /** @returns undefined if the connection has ended @throws AppError SERVICE_UNAVAILABLE; the call can be repeated */
  async admit(connection: DeviceConnection, device: DeviceAddress): Promise<ConnectOutcome | undefined> {
    const { session } = connection;
    connection.perform(await this.#refusal(connection, device));
    if (session.hasEnded()) return undefined;
    endSession(this.connections.claim(device, connection));
    await this.writes.acknowledged(connection.shard);
    const ref = this.identity.sessionRef(session.id);
    const outcome = await this.queues.connect(device, ref, PAGE_LENGTH);
    this.#evict(device, outcome);
    if (!session.hasEnded()) return outcome;
    // The connection has ended during `connect`, so its `disconnect` may have come before it.
    this.writes.disconnect(device, ref);
    return undefined;
  }

  wasHere(device: DeviceAddress, { previous }: ConnectOutcome): boolean {
    return previous?.node === this.identity.node || this.#departures.has(device, performance.now());
  }

  left(device: DeviceAddress, session: string): void {
    this.#departures.add(device, performance.now());
    this.writes.disconnect(device, this.identity.sessionRef(session));
  }

  evicted(device: DeviceAddress, session: string): void {
    const connection = this.connections.find(device);
    if (connection?.session.id === session) endSession(connection);
  }

  async #refusal({ session, network }: DeviceConnection, { appId }: DeviceAddress): Promise<readonly Effect[]> {
    try {
      const exists = await this.credentials.exists(appId, network);
      return exists ? [] : session.refuse(CLOSE.unknownApplication, UNKNOWN_APPLICATION);
    } catch (error) {
      if (!isAppError(error, 'TOO_MANY_REQUESTS')) throw error;
      return session.refuse(CLOSE.tooFast, error.message);
    }
  }

  /** If this message is lost, the other connector ends the session at its next reassertion. */
  #evict({ appId, installationId }: DeviceAddress, { previous }: ConnectOutcome): void {
    if (previous === undefined || previous.node === this.identity.node) return;
    const { node, session } = previous;
    void this.directMessages
      .send(node, connectorMessages.evict, { appId, installationId, session })
      .catch(() => undefined);
  }
}

export function endSession(connection: DeviceConnection | undefined): void {
  connection?.perform(connection.session.refuse(CLOSE.conflict, 'The device has logged in on another connection.'));
}

const FIRST_DELAY_MS = 1_000;
const LONGEST_DELAY_MS = 30_000;

/** A device that reconnects early has one conflict. Two devices with one id disconnect each other again and again, with growing delays. */
export function conflictDelayMs(conflicts: number): number {
  return conflicts <= 1 ? 0 : Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (conflicts - 2));
}

const GENERATION_MS = 10_000;
/** Further departures are not recorded: a late wake-up may then repeat a message. */
const MAX_DEVICES = 200_000;

/** The devices whose connections have ended recently: wake-ups for those connections may still arrive. */
export class RecentDepartures {
  #current = new Set<string>();
  #previous = new Set<string>();
  #rotatedMs = 0;

  add(device: DeviceAddress, nowMs: number): void {
    this.#rotate(nowMs);
    if (this.#current.size < MAX_DEVICES) this.#current.add(keyOf(device));
  }

  has(device: DeviceAddress, nowMs: number): boolean {
    this.#rotate(nowMs);
    const key = keyOf(device);
    return this.#current.has(key) || this.#previous.has(key);
  }

  #rotate(nowMs: number): void {
    const ageMs = nowMs - this.#rotatedMs;
    if (ageMs < GENERATION_MS) return;
    this.#previous = ageMs < 2 * GENERATION_MS ? this.#current : new Set();
    this.#current = new Set();
    this.#rotatedMs = nowMs;
  }
}

function keyOf({ appId, installationId }: DeviceAddress): string {
  return `${appId}:${installationId}`;
}
