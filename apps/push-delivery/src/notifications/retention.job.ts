import { Injectable } from '@nestjs/common';
import { PeriodicJob } from '#bootstrap';
import { Metrics } from '#observability';
import { RetentionRepository } from './retention.repository.js';

const INTERVAL_MS = 60_000;

/** Deletes old pushes and request ids. Replicas pass over the rows that another one deletes. */
@Injectable()
export class RetentionJob extends PeriodicJob {
  constructor(
    private readonly retention: RetentionRepository,
    metrics: Metrics,
  ) {
    super({ name: 'push-cleanup', intervalMs: INTERVAL_MS, metrics });
  }

  processBatch(): Promise<boolean> {
    return this.retention.processBatch();
  }
}
