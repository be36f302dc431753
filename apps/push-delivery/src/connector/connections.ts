import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Clock } from '#bootstrap';
import { type DeviceAddress, sessionIdOf, type SessionRef } from '../device-queues/device-queues.js';
import type { DeviceConnection } from './device-connection.js';
import { VISIT_MS } from './device-session.js';

@Injectable()
export class ConnectorIdentity {
  /** Unique for each start. */
  readonly node = `connector-${randomBytes(6).toString('hex')}`;
  #sessions = 0;

  constructor(private readonly clock: Clock) {}

  /** @param protocol the name of the framing, which operators read from the id (`openingOf`) */
  newSessionId(protocol: string): string {
    this.#sessions += 1;
    return sessionIdOf(this.#sessions, this.clock.now(), protocol);
  }

  sessionRef(session: string): SessionRef {
    return { node: this.node, session };
  }
}

/** At the limit, a connection older than this that has sent no login makes room for another one. */
const LOGIN_GRACE_MS = 2_000;

@Injectable()
export class Connections {
  readonly #all = new Set<DeviceConnection>();
  /** In the order in which they were opened, with the time. */
  readonly #withoutLogin = new Map<DeviceConnection, number>();
  readonly #byApp = new Map<string, Map<string, DeviceConnection>>();

  get count(): number {
    return this.#all.size;
  }

  all(): ReadonlySet<DeviceConnection> {
    return this.#all;
  }

  add(connection: DeviceConnection, nowMs: number): void {
    this.#all.add(connection);
    this.#withoutLogin.set(connection, nowMs);
  }

  hasSentLogin(connection: DeviceConnection): void {
    this.#withoutLogin.delete(connection);
  }

  /** Clients that never log in cannot keep devices out. @returns whether one more connection is within the limit */
  makeRoom(limit: number, nowMs: number): boolean {
    if (this.count < limit) return true;
    const [oldest] = this.#withoutLogin;
    if (oldest === undefined || nowMs - oldest[1] < LOGIN_GRACE_MS) return false;
    const [connection] = oldest;
    this.remove(connection);
    connection.terminate();
    return true;
  }

  /** Assigns the connection to the device. @returns the device's previous connection */
  claim(device: DeviceAddress, connection: DeviceConnection): DeviceConnection | undefined {
    const devices = this.#byApp.get(device.appId) ?? new Map<string, DeviceConnection>();
    const previous = devices.get(device.installationId);
    this.#byApp.set(device.appId, devices.set(device.installationId, connection));
    return previous === connection ? undefined : previous;
  }

  find({ appId, installationId }: DeviceAddress): DeviceConnection | undefined {
    return this.#byApp.get(appId)?.get(installationId);
  }

  findAll(appId: string, installationIds: readonly string[]): readonly DeviceConnection[] {
    const devices = this.#byApp.get(appId);
    return installationIds.map((id) => devices?.get(id)).filter((connection) => connection !== undefined);
  }

  remove(connection: DeviceConnection): void {
    this.#all.delete(connection);
    this.#withoutLogin.delete(connection);
    const { device } = connection.session;
    if (device === undefined || this.find(device) !== connection) return;
    const devices = this.#byApp.get(device.appId);
    devices?.delete(device.installationId);
    if (devices?.size === 0) this.#byApp.delete(device.appId);
  }

  resyncAll(): void {
    for (const connection of this.#all) connection.perform(connection.session.resync());
  }
}

const TICK_MS = 100;

/** Visits every connection once in VISIT_MS, a few at each tick: no connection needs a timer of its own. */
export class ConnectionRounds {
  #timer: NodeJS.Timeout | undefined;
  #round: Iterator<DeviceConnection, undefined> | undefined;
  #begunMs = 0;
  #perTick = 1;

  constructor(private readonly connections: Connections) {}

  start(): void {
    this.#timer ??= setInterval(() => {
      this.#tick(performance.now());
    }, TICK_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #tick(nowMs: number): void {
    if (this.#round === undefined) {
      if (nowMs - this.#begunMs < VISIT_MS) return;
      this.#begunMs = nowMs;
      this.#perTick = Math.ceil((this.connections.count * TICK_MS) / VISIT_MS);
      this.#round = this.connections.all()[Symbol.iterator]();
    }
    for (let count = 0; count <= this.#perTick; count += 1) {
      const next = this.#round.next();
      if (next.done === true) {
        this.#round = undefined;
        return;
      }
      next.value.perform(next.value.session.visit(nowMs));
    }
  }
}
