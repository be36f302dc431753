import WebSocket from 'ws';
import { PushClient } from '../../libs/push-client/src/index.js';

const PARALLEL_STARTS = 50;

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

  constructor({ server, appId, appKey, size }: Fleet) {
    this.#clients = Array.from(
      { length: size },
      (_, device) =>
        new PushClient({
          server,
          appId,
          registration: { appKey, fields: { deviceType: 'android', channels: ['fleet'] } },
          WebSocket,
          backOff: { baseMs: 200, maxMs: 2_000 },
          onMessage: ({ id }) => {
            this.#note(id, device);
          },
        }),
    );
  }

  get connected(): number {
    return this.#clients.filter(({ state }) => state === 'connected').length;
  }

  /** How many devices have been shown a push. */
  reached(pushId: string): number {
    return this.#shown.get(pushId)?.size ?? 0;
  }

  /** How many of them were shown it more than once. */
  repeated(pushId: string): number {
    return [...(this.#shown.get(pushId)?.values() ?? [])].filter((count) => count > 1).length;
  }

  /** Starts the devices, so many at a time that the server is not asked for more than it hands out at once. */
  async start(): Promise<void> {
    for (let first = 0; first < this.#clients.length; first += PARALLEL_STARTS) {
      const some = this.#clients.slice(first, first + PARALLEL_STARTS);
      for (const client of some) client.start();
      while (some.some(({ state }) => state === 'connecting')) await new Promise((resolve) => setTimeout(resolve, 10));
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
