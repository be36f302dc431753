import { type BeforeApplicationShutdown, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock } from '#bootstrap';
import { PollingWorker } from '#database';
import { FailureLog, Metrics } from '#observability';
import { InstallationScanRepository } from './installation-scan.repository.js';
import { LaneWorker } from './lane-worker.js';
import { LanesRepository } from './lanes.repository.js';
import { PushDelivery } from './push-delivery.js';
import { PushJobsRepository } from './push-jobs.repository.js';
import { PushWorker } from './push-worker.js';
import { VendorCredentials } from '../vendors/vendor-credentials.js';

/** Processes the pushes that are due: each in its turn in the lane of its application, and large ones beside it (ADR 34). */
@Injectable()
export class PushDispatcher implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly lanes: LaneWorker;
  private readonly large: readonly PushWorker[];
  private readonly schedule = new PollingWorker({ round: () => this.beginDue() });
  private readonly failures: FailureLog;

  constructor(
    private readonly scheduled: LanesRepository,
    jobs: PushJobsRepository,
    installations: InstallationScanRepository,
    delivery: PushDelivery,
    vendors: VendorCredentials,
    clock: Clock,
    private readonly metrics: Metrics,
  ) {
    const logger = new Logger('Pushes');
    this.failures = new FailureLog(logger, 'beginning scheduled pushes');
    const tools = { installations, delivery, vendors, clock, metrics, logger };
    const wakeLarge = () => {
      for (const worker of this.large) worker.wake();
    };
    const runTools = { ...tools, jobs, onPartition: wakeLarge };
    this.large = [new PushWorker('unpaced', runTools), new PushWorker('paced', runTools)];
    this.lanes = new LaneWorker({ ...tools, lanes: scheduled, onLarge: wakeLarge });
  }

  onApplicationBootstrap(): void {
    for (const worker of [this.schedule, this.lanes, ...this.large]) worker.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([this.schedule, this.lanes, ...this.large].map((worker) => worker.stop()));
  }

  /** The worker finds a scheduled push when it is due. */
  accepted(isDue: boolean): void {
    this.metrics.pushesAccepted.inc();
    if (isDue) this.wake();
  }

  wake(): void {
    this.lanes.wake();
  }

  /** @returns whether more scheduled pushes may be due */
  private async beginDue(): Promise<boolean> {
    try {
      const { hasBegun, isMoreDue } = await this.scheduled.beginDue();
      this.failures.succeeded();
      if (hasBegun) this.wake();
      return isMoreDue;
    } catch (error) {
      this.failures.failed(error);
      return false;
    }
  }
}
