import WebSocket from 'ws';
import { eventually } from '#testing';
import { PushClient } from '../../libs/push-client/src/index.js';

const PARALLEL_STARTS = 25;
const CONNECTED_MS = 90_000;

interface Fleet {
  /** Of the REST API. */
  readonly server: string;
  readonly appId: string;
  readonly appKey: string;
  readonly size: number;
}

/** Many devices in one process, each with a client of its own, and what their applications were shown. */
export class DeviceFleet {
  readonly #clients: PushClient[];
  /** By push: how often each device's application was shown it. */
  readonly #shown = new Map<string, Map<number, number>>();
  /** By device: how often it has logged in. */
  readonly #logins: number[];
  #lastError = '';

  constructor({ server, appId, appKey, size }: Fleet) {
    this.#logins = Array.from({ length: size }, () => 0);
    this.#clients = Array.from(
      { length: size },
      (_, device) =>
        new PushClient({
          server,
          appId,
          registration: { appKey, fields: { deviceType: 'android', channels: ['fleet'] } },
          WebSocket,
          backOff: { baseMs: 200, maxMs: 2_000 },
          onError: ({ message }) => {
            this.#lastError = message;
          },
          onMessage: ({ id }) => {
            this.#note(id, device);
          },
          onState: ({ state }) => {
            if (state === 'connected') this.#logins[device] = (this.#logins[device] ?? 0) + 1;
          },
        }),
    );
  }

  /** How many devices have been shown a push. */
  reached(pushId: string): number {
    return this.#shown.get(pushId)?.size ?? 0;
  }

  /** How many of them were shown it more than once. */
  repeated(pushId: string): number {
    return [...(this.#shown.get(pushId)?.values() ?? [])].filter((count) => count > 1).length;
  }

  /** How often the device that had to has come back. */
  mostReturns(): number {
    return Math.max(...this.#logins) - 1;
  }

  /** Connects the devices, some at a time: each registers first. */
  async start(): Promise<void> {
    for (let first = 0; first < this.#clients.length; first += PARALLEL_STARTS) {
      const some = this.#clients.slice(first, first + PARALLEL_STARTS);
      for (const client of some) client.start();
      await eventually(() => {
        if (some.some(({ state }) => state !== 'connected'))
          throw new Error(`not all are connected: ${this.#lastError}`);
      }, CONNECTED_MS);
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.stop()));
  }

  #note(pushId: string, device: number): void {
    const devices = this.#shown.get(pushId) ?? new Map<number, number>();
    devices.set(device, (devices.get(device) ?? 0) + 1);
    this.#shown.set(pushId, devices);
  }
}
