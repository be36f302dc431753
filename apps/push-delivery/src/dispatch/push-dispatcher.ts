import { type BeforeApplicationShutdown, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock } from '#bootstrap';
import { Metrics } from '#observability';
import { InstallationScanRepository } from './installation-scan.repository.js';
import { PushDelivery } from './push-delivery.js';
import { PushJobsRepository } from './push-jobs.repository.js';
import { PushLeases, PushWorker } from './push-worker.js';

/** Concurrent pushes to many devices per process; each uses a database connection. */
const BULK_SLOTS = 3;
const SINGLE_SLOTS = 32;

/** Processes the pushes that are due. Pushes to a single device have their own slots, so large pushes do not delay them. */
@Injectable()
export class PushDispatcher implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly bulk: PushWorker;
  private readonly single: PushWorker;
  private readonly leases: PushLeases;

  constructor(
    jobs: PushJobsRepository,
    installations: InstallationScanRepository,
    delivery: PushDelivery,
    clock: Clock,
    private readonly metrics: Metrics,
  ) {
    this.leases = new PushLeases(jobs);
    const tools = { jobs, installations, delivery, clock, metrics, logger: new Logger('Pushes') };
    const { leases } = this;
    const workerFor = (isBulk: boolean, slots: number) => {
      const kind = isBulk ? 'bulk' : 'single';
      const onEnd = (outcome: string) => {
        metrics.pushRuns.inc({ kind, outcome });
      };
      return new PushWorker({ isBulk, slots, leases, tools, onEnd });
    };
    this.bulk = workerFor(true, BULK_SLOTS);
    this.single = workerFor(false, SINGLE_SLOTS);
  }

  onApplicationBootstrap(): void {
    this.leases.start();
    this.bulk.start();
    this.single.start();
  }

  /** Before the databases close. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([this.bulk.stop(), this.single.stop()]);
    this.leases.close();
  }

  /** Reports an accepted push. The workers find a scheduled push when it is due. */
  accepted({ isBulk }: { readonly isBulk: boolean }, isDue: boolean): void {
    this.metrics.pushesAccepted.inc({ kind: isBulk ? 'bulk' : 'single' });
    if (isDue) this.wake({ isBulk });
  }

  /** Reports a push that is due. */
  wake({ isBulk }: { readonly isBulk: boolean }): void {
    (isBulk ? this.bulk : this.single).wake();
  }
}
