import { randomBytes } from 'node:crypto';
import type { PushMessage } from '#contracts';
import { unique } from '#testing';
import {
  type ConnectedDevice,
  type DeviceAddress,
  type DeviceQueues,
  type EnqueuedDevice,
  type MessageRef,
  partitionOf,
  type QueueStatistics,
  type SessionRef,
} from '../src/device-queues/device-queues.js';

const HOUR_MS = 3_600_000;
const PAGE = 50;
/** All applications share one order of pushes. */
let order = 0;

/** A separate application whose queues are used like dispatchers and connectors use them. */
export class QueueUser {
  readonly appId = unique('app');
  #positions = 0;
  /** Of each message, as a device of its latest platform has it. */
  readonly #refs = new Map<string, MessageRef>();

  constructor(readonly queues: DeviceQueues) {}

  newId(): string {
    return randomBytes(12).toString('hex');
  }

  newDevice(): DeviceAddress {
    return { appId: this.appId, installationId: unique('device') };
  }

  newSession(node = 'node-1'): SessionRef {
    return { node, session: unique('session') };
  }

  newMessage(values: Partial<PushMessage> = {}): PushMessage {
    order += 1;
    const message = {
      id: this.newId(),
      appId: this.appId,
      order,
      expiresAt: Date.now() + HOUR_MS,
      bodies: { ios: '{"alert":"pomme"}' },
      body: '{"alert":"名前"}',
      ...values,
    };
    this.#remember(message, 'android');
    return message;
  }

  /** A number of devices of one partition, in the order of their positions. */
  manyDevices(count: number): { partition: number; devices: EnqueuedDevice[] } {
    const partition = partitionOf(this.newDevice());
    const devices: EnqueuedDevice[] = [];
    for (let tried = 0; devices.length < count; tried += 1) {
      const device = { appId: this.appId, installationId: `device-${tried}` };
      if (partitionOf(device) === partition) devices.push(this.#target(device, 'android'));
    }
    return { partition, devices };
  }

  /** @returns the connected devices */
  async enqueue(
    message: PushMessage,
    devices: readonly DeviceAddress[],
    platform = 'android',
  ): Promise<ConnectedDevice[]> {
    this.#remember(message, platform);
    const connected: ConnectedDevice[] = [];
    for (const device of devices) {
      const batch = { message, partition: partitionOf(device), devices: [this.#target(device, platform)] };
      connected.push(...(await this.queues.enqueue(batch)));
    }
    return connected;
  }

  async acknowledge(device: DeviceAddress, ids: readonly string[], reportedUpTo = 0): Promise<void> {
    const refs = ids.map((id) => this.#refs.get(id) ?? { id, platform: 'android', expiresAt: 0 });
    await this.queues.acknowledge([{ device, refs, reportedUpTo }]);
  }

  async idsIn(device: DeviceAddress): Promise<string[]> {
    return (await this.queues.peek(device, PAGE)).refs.map(({ id }) => id);
  }

  async statisticsOf(message: PushMessage): Promise<QueueStatistics | undefined> {
    const [statistics] = await this.queues.statistics([message]);
    return statistics?.get('android');
  }

  #remember({ id, expiresAt }: PushMessage, platform: string): void {
    this.#refs.set(id, { id, platform, expiresAt });
  }

  #target({ installationId }: DeviceAddress, platform: string): EnqueuedDevice {
    this.#positions += 1;
    return { installationId, platform, position: this.#positions.toString(16).padStart(24, '0') };
  }
}
