import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { Clock } from '#clock';
import { DEVICE_QUEUES, type DeviceQueues } from '../device-queues/device-queues.js';
import { PeriodicBites } from '../periodic-bites.js';
import { Metrics } from '#observability';
import { growthOf, isSettled, withTally } from './delivery-counts.rules.js';
import { TalliesRepository, type UntalliedPush } from './tallies.repository.js';
import { nextTallyAt } from './tally.rules.js';

const INTERVAL_MS = 5_000;
const BITE = 20;

/**
 * Copies what the queues count into the records of pushes, now and then, and for the last time when nothing can change
 * any more. Then the queues forget the push.
 */
@Injectable()
export class TallyKeeper implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #bites = new PeriodicBites({
    intervalMs: INTERVAL_MS,
    takeBite: () => this.takeBite(),
    logger: new Logger('Tallies'),
  });

  constructor(
    private readonly tallies: TalliesRepository,
    @Inject(DEVICE_QUEUES) private readonly queues: DeviceQueues,
    private readonly clock: Clock,
    private readonly metrics: Metrics,
  ) {}

  onApplicationBootstrap(): void {
    this.#bites.start();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.#bites.stop();
  }

  /** Tallies some of the pushes whose time has come. @returns whether there may be more */
  async takeBite(): Promise<boolean> {
    const pushes = await this.tallies.take(BITE);
    for (const push of pushes) await this.#tally(push);
    return pushes.length === BITE;
  }

  async #tally(push: UntalliedPush): Promise<void> {
    const message = { appId: push.appId, id: push.objectId };
    const counts = withTally(push.counts, await this.queues.tally(message));
    const nextAt = isSettled(counts) ? undefined : nextTallyAt(push, this.clock.now());
    // Counts never shrink: it may fail after this, and come again.
    if (nextAt === undefined) await this.queues.forget(message);
    const before = await this.tallies.note(push, counts, nextAt);
    if (before === undefined) return;
    for (const [outcome, devices] of Object.entries(growthOf(before, counts, nextAt === undefined)))
      this.metrics.pushDevices.inc({ outcome }, devices);
  }
}
