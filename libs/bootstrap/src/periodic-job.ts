import { setTimeout as sleep } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { FailureLog, type JobName, type Metrics } from '#observability';

interface PeriodicJobOptions {
  /** The value of the label `name` in metrics, and the name in logs. */
  readonly name: JobName;
  /** The pause between the end of one round and the start of the next one, in milliseconds; 10 % more or less. */
  readonly intervalMs: number;
  readonly metrics: Pick<Metrics, 'jobLastSuccess'>;
}

/**
 * Work that a process repeats as long as it runs. A round processes batches until none is left, for one interval at most; the
 * rest is left to the next round. Rounds never overlap, because the pause begins when the round has ended. A failed batch ends
 * its round: it is logged (`FailureLog`), and the time of the last success stays as it was.
 */
export abstract class PeriodicJob implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #options: PeriodicJobOptions;
  readonly #failures: FailureLog;
  readonly #stop = new AbortController();
  #loop: Promise<void> = Promise.resolve();

  constructor(options: PeriodicJobOptions) {
    this.#options = options;
    this.#failures = new FailureLog(new Logger('PeriodicJob'), options.name);
  }

  /** Processes a bounded part of the work. @returns whether more may be left */
  abstract processBatch(): Promise<boolean>;

  onApplicationBootstrap(): void {
    const { name, metrics } = this.#options;
    // A job that never succeeds would have no series, and an alert compares nothing with nothing.
    metrics.jobLastSuccess.set({ name }, 0);
    this.#loop = this.#repeat();
  }

  /** Resolves once the batch that is under way has ended. */
  async beforeApplicationShutdown(): Promise<void> {
    this.#stop.abort();
    await this.#loop;
  }

  /** The first round begins within one interval, at a random time: replicas that start together do not work together. */
  async #repeat(): Promise<void> {
    await this.#pause(Math.random());
    while (!this.#stop.signal.aborted) {
      await this.#round();
      await this.#pause(0.9 + 0.2 * Math.random());
    }
  }

  async #pause(intervals: number): Promise<void> {
    // It rejects when the job is stopped, which ends the pause.
    await sleep(this.#options.intervalMs * intervals, undefined, { signal: this.#stop.signal }).catch(() => undefined);
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
