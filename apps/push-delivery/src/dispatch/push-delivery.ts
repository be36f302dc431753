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

/** Resolves after the time, or at once when the signal comes. */
export async function abortableSleep(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}

const FIRST_MS = 100;
const LONGEST_MS = 5_000;

/** Waiting times between attempts: each twice the last, 5 seconds at most. */
export class Backoff {
  #lastMs = 0;

  next(): number {
    this.#lastMs = Math.min(LONGEST_MS, Math.max(FIRST_MS, 2 * this.#lastMs));
    return this.#lastMs;
  }

  /** An attempt went well. */
  reset(): void {
    this.#lastMs = 0;
  }
}

export interface Hint {
  readonly message: PushMessage;
  readonly devices: readonly ConnectedDevice[];
  /** The devices may have been told of the message before. */
  readonly isRepeated: boolean;
}

/** Tells connectors that a message has come into the queues of devices that they hold: one message for each connector. */
@Injectable()
export class WakeUpNotifications {
  private readonly logger = new Logger('Pushes');

  constructor(
    private readonly nodes: DirectMessages,
    @Inject(CONNECTOR_NODES) private readonly connectors: ConnectorNodes,
  ) {}

  /**
   * Resolves when every connector is told that still lives. One that is too far behind holds the push up, and so does a broker
   * that is away: while a connector lives, nobody else would tell its devices.
   */
  async tell({ devices, ...hint }: Hint, signal: AbortSignal): Promise<void> {
    let untold = byNode(devices);
    const backoff = new Backoff();
    for (;;) {
      untold = await this.#attempt(untold, hint);
      if (untold.size === 0 || signal.aborted) return;
      await abortableSleep(backoff.next(), signal);
      untold = await this.#living(untold);
    }
  }

  /** @returns whom the broker did not take the message for */
  async #attempt(devices: DevicesByNode, { message, isRepeated }: Omit<Hint, 'devices'>): Promise<DevicesByNode> {
    const failed: DevicesByNode = new Map();
    const attempts = [...devices].map(async ([node, targets]) => {
      await this.nodes
        .send(node, connectorMessages.deliver, { message, targets, isRepeated })
        .catch((error: unknown) => {
          this.logger.debug(`connector ${node} could not be told: ${messageOf(error)}`);
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

/** Moves of the queues under way at once for one page. */
const PARALLEL_MOVES = 16;

/** Puts a push into the queues of devices, and has those that are connected told. */
@Injectable()
export class PushDelivery {
  constructor(
    @Inject(DEVICE_QUEUES) private readonly queues: DeviceQueues,
    private readonly hints: WakeUpNotifications,
  ) {}

  /**
   * @param isRepeated it may have been done before, in whole or in part
   * @throws AppError SERVICE_UNAVAILABLE; all of it can be done again
   */
  async deliver(
    message: PushMessage,
    installations: readonly TargetedInstallation[],
    { isRepeated, signal }: { isRepeated: boolean; signal: AbortSignal },
  ): Promise<void> {
    const batches = batchesOf(message, installations);
    const devices: ConnectedDevice[] = [];
    for (let start = 0; start < batches.length; start += PARALLEL_MOVES) {
      const moves = batches.slice(start, start + PARALLEL_MOVES).map((batch) => this.queues.enqueue(batch));
      devices.push(...(await Promise.all(moves)).flat());
    }
    await this.hints.tell({ message, devices, isRepeated }, signal);
  }
}

/** The message that devices get by a push. */
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
