import { setTimeout as sleep } from 'node:timers/promises';
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
  /** The channel of all devices; `fleet` by default. */
  readonly channel?: string;
}

/** Many devices in one process, each with a client of its own, and what their applications were shown. */
export class DeviceFleet {
  readonly #clients: PushClient[];
  /** By push: how often each device's application was shown it. */
  readonly #shown = new Map<string, Map<number, number>>();
  /** By device: the ids of pushes in the order in which its application was shown them. */
  readonly #sequences: string[][];
  /** By device: how often it has logged in. */
  readonly #logins: number[];
  /** How many devices have been sent away for a while. */
  away = 0;
  #wandering: Promise<unknown> = Promise.resolve();
  #isStopping = false;
  /** The latest error of a device. */
  lastError = '';

  constructor({ server, appId, appKey, size, channel = 'fleet' }: Fleet) {
    this.#logins = Array.from({ length: size }, () => 0);
    this.#sequences = Array.from({ length: size }, () => []);
    this.#clients = Array.from(
      { length: size },
      (_, device) =>
        new PushClient({
          server,
          appId,
          registration: { appKey, fields: { deviceType: 'android', channels: [channel] } },
          WebSocket,
          backOff: { baseMs: 200, maxMs: 2_000 },
          onError: ({ message }) => {
            this.lastError = message;
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

  /** By device: the ids of pushes in the order in which its application was shown them. */
  get sequences(): readonly (readonly string[])[] {
    return this.#sequences;
  }

  /** How often the device that had to has come back. */
  mostReturns(): number {
    return Math.max(...this.#logins) - 1;
  }

  get size(): number {
    return this.#clients.length;
  }

  /** How many devices are to be connected, but are not. */
  get missing(): number {
    return this.#clients.filter(({ state }) => state !== 'connected').length - this.away;
  }

  /** Ids of all pushes that devices were shown. */
  get shown(): string[] {
    return [...this.#shown.keys()];
  }

  /** From now on so many devices at a time go away for a while and come back, each in its turn, until `settle`. */
  wander(atOnce: number, awayMs: number): void {
    const shares = Array.from({ length: atOnce }, (_, share) =>
      this.#clients.filter((_client, device) => device % atOnce === share),
    );
    this.#wandering = Promise.all(shares.map((clients) => this.#wander(clients, awayMs)));
  }

  /** All devices are to stay. */
  async settle(): Promise<void> {
    this.#isStopping = true;
    await this.#wandering;
  }

  /** Connects the devices, some at a time: each registers first. */
  async start(): Promise<void> {
    for (let first = 0; first < this.#clients.length; first += PARALLEL_STARTS) {
      const some = this.#clients.slice(first, first + PARALLEL_STARTS);
      for (const client of some) client.start();
      await eventually(() => {
        if (some.some(({ state }) => state !== 'connected'))
          throw new Error(`not all are connected: ${this.lastError}`);
      }, CONNECTED_MS);
    }
  }

  /** Disconnects one of the devices. */
  async leave(device: number): Promise<void> {
    await this.#clients[device]?.stop();
  }

  /** Connects it again, with what it remembers; does not wait for it. */
  comeBack(device: number): void {
    this.#clients[device]?.start();
  }

  async stop(): Promise<void> {
    await this.settle();
    await Promise.all(this.#clients.map((client) => client.stop()));
  }

  async #wander(clients: readonly PushClient[], awayMs: number): Promise<void> {
    for (let turn = 0; !this.#isStopping; turn += 1) {
      const client = clients[turn % clients.length]!;
      this.away += 1;
      await client.stop();
      await sleep(awayMs);
      client.start();
      await eventually(() => {
        if (client.state !== 'connected') throw new Error('the device is not connected yet');
      }, CONNECTED_MS);
      this.away -= 1;
    }
  }

  #note(pushId: string, device: number): void {
    const devices = this.#shown.get(pushId) ?? new Map<number, number>();
    devices.set(device, (devices.get(device) ?? 0) + 1);
    this.#shown.set(pushId, devices);
    this.#sequences[device]?.push(pushId);
  }
}
