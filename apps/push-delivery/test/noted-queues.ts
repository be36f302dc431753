import { expect } from 'vitest';
import { Clock } from '#bootstrap';
import type { DirectMessages } from '#messaging';
import type { Metrics } from '#observability';
import type { ConnectorNodes, WakeUp } from '../src/device-queues/connector-nodes.js';
import type { DeviceQueues, EnqueueBatch } from '../src/device-queues/device-queues.js';
import type { VendorDispatch } from '../src/dispatch/installation-scan.js';
import { LanesRepository } from '../src/dispatch/lanes.repository.js';
import { PushDelivery } from '../src/dispatch/push-delivery.js';
import { PushDispatcher } from '../src/dispatch/push-dispatcher.js';
import { PushJobsRepository } from '../src/dispatch/push-jobs.repository.js';
import { InstallationScanRepository } from '../src/installations/installations.repository.js';
import type { PushDatabase } from '../src/push-delivery.database.js';
import type { VendorCredentialsService } from '../src/vendors/vendor-credentials.service.js';

/** Queues that record batches, skip repeated devices, and fail or wait on request. */
export class NotedQueues {
  readonly received: string[] = [];
  /** By installation: the ids of its pushes, in the order in which they were added. */
  readonly sequences = new Map<string, string[]>();
  readonly #marks = new Map<string, string>();
  before: (batch: EnqueueBatch) => Promise<void> = () => Promise.resolve();

  async enqueue(batch: EnqueueBatch): ReturnType<DeviceQueues['enqueue']> {
    await this.before(batch);
    const key = `${batch.message.id} ${batch.partition}`;
    const mark = this.#marks.get(key) ?? '';
    const positions = batch.devices.map(({ position }) => position);
    expect(positions).toEqual([...positions].sort());
    for (const { position, installationId } of batch.devices) {
      if (position <= mark) continue;
      this.received.push(installationId);
      this.sequences.set(installationId, [...(this.sequences.get(installationId) ?? []), batch.message.id]);
    }
    this.#marks.set(key, [mark, ...positions].sort().at(-1) ?? '');
    return batch.devices.map(({ installationId, platform }) => ({ installationId, platform, node: 'connector' }));
  }
}

/** A dispatcher without vendors. @param wakeUps gets the notifications of connectors */
export function startDispatcher(
  database: PushDatabase,
  queues: Pick<DeviceQueues, 'enqueue'>,
  wakeUps: WakeUp[],
  metrics: Metrics,
): PushDispatcher {
  const delivery = new PushDelivery(queues as DeviceQueues, {} as DirectMessages, {} as ConnectorNodes);
  delivery.wake = (sent) => Promise.resolve(void wakeUps.push(...sent));
  const vendors: VendorDispatch = { channelsOf: () => Promise.resolve([]), batchesAdded: () => undefined };
  const dispatcher = new PushDispatcher(
    new LanesRepository(database),
    new PushJobsRepository(database),
    new InstallationScanRepository(database),
    delivery,
    vendors as VendorCredentialsService,
    new Clock(),
    metrics,
  );
  dispatcher.onApplicationBootstrap();
  return dispatcher;
}
