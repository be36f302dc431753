import { Inject, Injectable } from '@nestjs/common';
import type { PushMessage } from '#contracts';
import {
  type ConnectedDevice,
  DEVICE_QUEUES,
  type DeviceQueues,
  type EnqueueBatch,
} from '../device-queues/device-queues.js';
import { platformOf } from './delivery-counts.rules.js';
import { DeviceHints } from './device-hints.js';
import type { PushJob, TargetedInstallation } from './push-job.types.js';

/** Moves of the queues under way at once for one page. */
const PARALLEL_MOVES = 16;

/** Puts a push into the queues of devices, and has those that are connected told. */
@Injectable()
export class PushDelivery {
  constructor(
    @Inject(DEVICE_QUEUES) private readonly queues: DeviceQueues,
    private readonly hints: DeviceHints,
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
