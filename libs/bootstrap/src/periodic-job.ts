import { type BeforeApplicationShutdown, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { abortableSleep } from '#errors';
import { FailureLog, type JobName, type Metrics } from '#observability';

@Injectable()
export class Clock {
  now(): Date {
    return new Date();
  }
}

interface PeriodicJobOptions {
  readonly name: JobName;
  /** Between two rounds, varied by up to 10 %. The alert `GatepostJobFails` fires ten minutes after a start without a round. */
  readonly intervalMs: number;
  readonly metrics: Pick<Metrics, 'jobLastSuccess'>;
}

/** A round processes batches until none is left, for at most one interval. A failed batch ends it and leaves the last success unchanged. */
export abstract class PeriodicJob implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #options: PeriodicJobOptions;
  readonly #failures: FailureLog;
  readonly #stop = new AbortController();
  #loop: Promise<void> = Promise.resolve();

  constructor(options: PeriodicJobOptions) {
    this.#options = options;
    this.#failures = new FailureLog(new Logger('PeriodicJob'), options.name);
  }

  /** Processes a bounded part of the work. @returns whether more work may be left */
  abstract processBatch(): Promise<boolean>;

  onApplicationBootstrap(): void {
    const { name, metrics } = this.#options;
    // Without an initial value, a job that never succeeds would have no series, and the alert would not fire.
    metrics.jobLastSuccess.set({ name }, 0);
    this.#loop = this.#repeat();
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.#stop.abort();
    await this.#loop;
  }

  /** The first round starts at a random time, so that replicas that start together do not run the job at the same time. */
  async #repeat(): Promise<void> {
    await this.#pause(Math.random());
    while (!this.#stop.signal.aborted) {
      await this.#round();
      await this.#pause(0.9 + 0.2 * Math.random());
    }
  }

  async #pause(intervals: number): Promise<void> {
    await abortableSleep(this.#options.intervalMs * intervals, this.#stop.signal);
  }

  async #round(): Promise<void> {
    const { name, intervalMs, metrics } = this.#options;
    const endAtMs = performance.now() + intervalMs;
    try {
      const mayGoOn = () => !this.#stop.signal.aborted && performance.now() < endAtMs;
      while ((await this.processBatch()) && mayGoOn());
      metrics.jobLastSuccess.set({ name }, Date.now() / 1_000);
      this.#failures.succeeded();
    } catch (error) {
      this.#failures.failed(error);
    }
  }
}
