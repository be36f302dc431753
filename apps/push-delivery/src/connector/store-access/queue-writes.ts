import { Inject, Injectable } from '@nestjs/common';
import { Metrics } from '#observability';
import type { DeviceAddress } from '../../device-queues/device-address.js';
import {
  type Acknowledgement,
  DEVICE_QUEUES,
  type DevicePresence,
  type DeviceQueues,
  type SessionRef,
} from '../../device-queues/device-queues.js';
import { RepeatedWrites } from './repeated-writes.js';

/** Some 30 MB at most. What is dropped is sent to its devices again. */
const MAX_ACKNOWLEDGEMENTS = 100_000;
/** What is dropped is written over when the device comes back. */
const MAX_DEPARTURES = 100_000;
const CLOSE_LIMIT_MS = 3_000;

/** What connections tell the store without waiting for it. */
@Injectable()
export class QueueWrites {
  readonly #acknowledgements: RepeatedWrites<Acknowledgement>;
  readonly #departures: RepeatedWrites<DevicePresence>;

  constructor(@Inject(DEVICE_QUEUES) queues: DeviceQueues, metrics: Metrics) {
    this.#acknowledgements = new RepeatedWrites({
      name: 'acknowledgements',
      write: (items) => queues.acknowledge(items),
      limit: MAX_ACKNOWLEDGEMENTS,
      dropped: () => {
        metrics.pushAcknowledgements.inc({ outcome: 'dropped' });
      },
    });
    this.#departures = new RepeatedWrites({
      name: 'departures',
      write: (items) => queues.disconnect(items),
      limit: MAX_DEPARTURES,
    });
  }

  acknowledge(acknowledgement: Acknowledgement): void {
    this.#acknowledgements.add(acknowledgement);
  }

  /** Resolves once the store has all acknowledgements until now: what it says of a queue is then true of them. */
  acknowledged(): Promise<void> {
    return this.#acknowledgements.settled();
  }

  disconnect(device: DeviceAddress, session: SessionRef): void {
    this.#departures.add({ device, session });
  }

  async close(): Promise<void> {
    await Promise.all([this.#acknowledgements.close(CLOSE_LIMIT_MS), this.#departures.close(CLOSE_LIMIT_MS)]);
  }
}
