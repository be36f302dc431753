import { Injectable } from '@nestjs/common';
import { Metrics } from '#observability';
import { PushJobsRepository } from './push-jobs.repository.js';

/** Tells how many pushes are due and not finished, and for how long the oldest has been. */
@Injectable()
export class PushGauge {
  constructor(jobs: PushJobsRepository, metrics: Metrics) {
    metrics.sample({
      gauges: [metrics.pushesWaiting, metrics.oldestPush],
      read: async () => {
        const { count, seconds } = await jobs.waiting();
        metrics.pushesWaiting.set(count);
        metrics.oldestPush.set(seconds);
      },
    });
  }
}
