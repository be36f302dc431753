import { Injectable } from '@nestjs/common';
import type { DeviceAddress } from '../../device-queues/device-address.js';
import type { DeviceConnection } from './device-connection.js';

/** All connections of this process, and which one is whose. */
@Injectable()
export class Connections {
  readonly #all = new Set<DeviceConnection>();
  readonly #byApp = new Map<string, Map<string, DeviceConnection>>();

  get count(): number {
    return this.#all.size;
  }

  all(): ReadonlySet<DeviceConnection> {
    return this.#all;
  }

  add(connection: DeviceConnection): void {
    this.#all.add(connection);
  }

  /** Makes the connection the device's. @returns the one that was it until now */
  claim(device: DeviceAddress, connection: DeviceConnection): DeviceConnection | undefined {
    const devices = this.#byApp.get(device.appId) ?? new Map<string, DeviceConnection>();
    const previous = devices.get(device.installationId);
    this.#byApp.set(device.appId, devices.set(device.installationId, connection));
    return previous === connection ? undefined : previous;
  }

  find({ appId, installationId }: DeviceAddress): DeviceConnection | undefined {
    return this.#byApp.get(appId)?.get(installationId);
  }

  remove(connection: DeviceConnection): void {
    this.#all.delete(connection);
    const { device } = connection.session;
    if (device === undefined || this.find(device) !== connection) return;
    const devices = this.#byApp.get(device.appId);
    devices?.delete(device.installationId);
    if (devices?.size === 0) this.#byApp.delete(device.appId);
  }

  /** Has the queues of all devices asked for what these may have missed. */
  resyncAll(): void {
    for (const connection of this.#all) connection.perform(connection.session.resync());
  }
}
