import { type BeforeApplicationShutdown, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock } from '#bootstrap';
import { PollingWorker } from '#database';
import { FailureLog, Metrics } from '#observability';
import { InstallationScanRepository } from '../installations/installations.repository.js';
import type { LeasedWorker } from '../pushes/leases.js';
import type { PushJob } from '../pushes/push.row.js';
import { VendorCredentialsService } from '../vendors/vendor-credentials.service.js';
import { laneWorker } from './lane-worker.js';
import { type LaneLease, LanesRepository } from './lanes.repository.js';
import { PushDelivery } from './push-delivery.js';
import { PushJobsRepository } from './push-jobs.repository.js';
import { largeWorker } from './push-run.js';

/** Processes the pushes that are due: each in its turn in the lane of its application, and large ones beside it (ADR 34). */
@Injectable()
export class PushDispatcher implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #lanes: LeasedWorker<LaneLease>;
  readonly #large: readonly LeasedWorker<PushJob>[];
  readonly #schedule = new PollingWorker({ round: () => this.#beginDue() });
  readonly #failures: FailureLog;

  constructor(
    private readonly scheduled: LanesRepository,
    jobs: PushJobsRepository,
    installations: InstallationScanRepository,
    delivery: PushDelivery,
    vendors: VendorCredentialsService,
    clock: Clock,
    private readonly metrics: Metrics,
  ) {
    const logger = new Logger('Pushes');
    this.#failures = new FailureLog(logger, 'beginning scheduled pushes');
    const tools = { installations, delivery, vendors, clock, metrics, logger };
    const wakeLarge = () => {
      for (const worker of this.#large) worker.wake();
    };
    const runTools = { ...tools, jobs, onPartition: wakeLarge };
    this.#large = [largeWorker('unpaced', runTools), largeWorker('paced', runTools)];
    this.#lanes = laneWorker({ ...tools, lanes: scheduled, onLarge: wakeLarge });
  }

  onApplicationBootstrap(): void {
    for (const worker of [this.#schedule, this.#lanes, ...this.#large]) worker.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([this.#schedule, this.#lanes, ...this.#large].map((worker) => worker.stop()));
  }

  /** The worker finds a scheduled push when it is due. */
  accepted(isDue: boolean): void {
    this.metrics.pushesAccepted.inc();
    if (isDue) this.wake();
  }

  wake(): void {
    this.#lanes.wake();
  }

  async #beginDue(): Promise<boolean> {
    try {
      const { hasBegun, isMoreDue } = await this.scheduled.beginDue();
      this.#failures.succeeded();
      if (hasBegun) this.wake();
      return isMoreDue;
    } catch (error) {
      this.#failures.failed(error);
      return false;
    }
  }
}

@Injectable()
export class PushGauge {
  constructor(lanes: LanesRepository, metrics: Metrics) {
    metrics.sample({
      gauges: [metrics.pushesWaiting, metrics.oldestPush],
      read: async () => {
        const { count, seconds } = await lanes.waiting();
        metrics.pushesWaiting.set(count);
        metrics.oldestPush.set(seconds);
      },
    });
  }
}
