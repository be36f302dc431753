import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { connectorMessages, type PushMessage } from '#contracts';
import { messageOf } from '#errors';
import { DirectMessages } from '#messaging';
import { CONNECTOR_NODES, type ConnectorNodes } from '../device-queues/connector-nodes.js';
import {
  type ConnectedDevice,
  DEVICE_QUEUES,
  type DeviceQueues,
  type EnqueueBatch,
} from '../device-queues/device-queues.js';
import { platformOf } from './delivery-counts.rules.js';
import type { PushJob, TargetedInstallation } from './push.row.js';

/** Resolves after the time, or at once when the signal is aborted. */
export async function abortableSleep(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}

const FIRST_MS = 100;
const LONGEST_MS = 5_000;

/** Waiting times between attempts: each twice the last, at most 5 seconds. */
export class Backoff {
  #lastMs = 0;

  next(): number {
    this.#lastMs = Math.min(LONGEST_MS, Math.max(FIRST_MS, 2 * this.#lastMs));
    return this.#lastMs;
  }

  /** Call it after a successful attempt. */
  reset(): void {
    this.#lastMs = 0;
  }
}

export interface WakeUp {
  readonly message: PushMessage;
  readonly devices: readonly ConnectedDevice[];
  /** The devices may have been notified of the message before. */
  readonly isRepeated: boolean;
}

/** Notifies connectors of a new message in the queues of their devices: one direct message for each connector. */
@Injectable()
export class WakeUpNotifications {
  private readonly logger = new Logger('Pushes');

  constructor(
    private readonly nodes: DirectMessages,
    @Inject(CONNECTOR_NODES) private readonly connectors: ConnectorNodes,
  ) {}

  /**
   * Resolves when every live connector is notified. A connector that is too far behind delays the push, and so does an unavailable
   * broker: only this notification wakes the devices of a live connector.
   */
  async send({ devices, ...wakeUp }: WakeUp, signal: AbortSignal): Promise<void> {
    let pending = byNode(devices);
    const backoff = new Backoff();
    for (;;) {
      pending = await this.#attempt(pending, wakeUp);
      if (pending.size === 0 || signal.aborted) return;
      await abortableSleep(backoff.next(), signal);
      pending = await this.#living(pending);
    }
  }

  /** @returns the connectors for which the broker did not accept the message */
  async #attempt(devices: DevicesByNode, { message, isRepeated }: Omit<WakeUp, 'devices'>): Promise<DevicesByNode> {
    const failed: DevicesByNode = new Map();
    const attempts = [...devices].map(async ([node, targets]) => {
      await this.nodes
        .send(node, connectorMessages.deliver, { message, targets, isRepeated })
        .catch((error: unknown) => {
          this.logger.debug(`connector ${node} could not be notified: ${messageOf(error)}`);
          failed.set(node, targets);
        });
    });
    await Promise.all(attempts);
    return failed;
  }

  async #living(devices: DevicesByNode): Promise<DevicesByNode> {
    const living = new Set((await this.connectors.live()).map(({ id }) => id));
    return new Map([...devices].filter(([node]) => living.has(node)));
  }
}

/** Installation ids and platforms, by connector. */
type DevicesByNode = Map<string, [installationId: string, platform: string][]>;

function byNode(devices: readonly ConnectedDevice[]): DevicesByNode {
  const grouped: DevicesByNode = new Map();
  for (const { node, installationId, platform } of devices) {
    const targets = grouped.get(node);
    if (targets === undefined) grouped.set(node, [[installationId, platform]]);
    else targets.push([installationId, platform]);
  }
  return grouped;
}

/** Concurrent operations on the queues for one page. */
const PARALLEL_OPERATIONS = 16;

/** Adds a push to the queues of devices and wakes the connected ones. */
@Injectable()
export class PushDelivery {
  constructor(
    @Inject(DEVICE_QUEUES) private readonly queues: DeviceQueues,
    private readonly wakeUps: WakeUpNotifications,
  ) {}

  /**
   * @param isRepeated the page may have been delivered before, completely or in part
   * @throws AppError SERVICE_UNAVAILABLE; the call can be repeated
   */
  async deliver(
    message: PushMessage,
    installations: readonly TargetedInstallation[],
    { isRepeated, signal }: { isRepeated: boolean; signal: AbortSignal },
  ): Promise<void> {
    const batches = batchesOf(message, installations);
    const devices: ConnectedDevice[] = [];
    for (let start = 0; start < batches.length; start += PARALLEL_OPERATIONS) {
      const operations = batches.slice(start, start + PARALLEL_OPERATIONS).map((batch) => this.queues.enqueue(batch));
      devices.push(...(await Promise.all(operations)).flat());
    }
    await this.wakeUps.send({ message, devices, isRepeated }, signal);
  }
}

/** The message of a push for its devices. */
export function messageOfPush({ objectId, appId, seq, expiresAt, message }: PushJob): PushMessage {
  return {
    id: objectId,
    appId,
    order: seq,
    expiresAt: expiresAt.getTime(),
    body: message.body,
    bodies: message.bodies,
  };
}

/** The installations are ordered by partition, and so are their batches. */
function batchesOf(message: PushMessage, installations: readonly TargetedInstallation[]): EnqueueBatch[] {
  const batches: (EnqueueBatch & { devices: EnqueueBatch['devices'][number][] })[] = [];
  for (const { installationId, objectId, partition, deviceType } of installations) {
    if (installationId === null) continue;
    const device = { installationId, position: objectId, platform: platformOf({ deviceType }) };
    const batch = batches.at(-1);
    if (batch?.partition === partition) batch.devices.push(device);
    else batches.push({ message, partition, devices: [device] });
  }
  return batches;
}
