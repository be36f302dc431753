import { randomUUID } from 'node:crypto';
import { Injectable, Logger } from '@nestjs/common';
import { ClaimingWorker } from '#database';
import { AppError, messageOf } from '#errors';
import { continueTrace, Metrics } from '#observability';
import { PushJobsRepository } from './push-jobs.repository.js';
import { PushRun, type PushTools, type RunEnd } from './push-run.js';
import type { PushJob } from './push.row.js';

const LEASE_SECONDS = 30;
const RENEW_INTERVAL_MS = 10_000;

/** A push that this process holds. */
interface HeldPush {
  readonly job: PushJob;
  /** Aborted when the lease is lost or the process stops. */
  readonly stop: AbortController;
}

interface Holding extends HeldPush {
  /** In `performance.now()` time: afterwards another process may claim the push. */
  heldUntil: number;
}

/** The leases of this process. Their renewal is not a `PeriodicJob`, because it goes on while the workers stop. */
export class PushLeases {
  private readonly logger = new Logger('Pushes');
  readonly #held = new Set<Holding>();
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly jobs: PushJobsRepository) {}

  start(): void {
    this.#timer = setInterval(() => void this.#renew(), RENEW_INTERVAL_MS);
  }

  /** Stops every run at its next step. */
  stopAll(): void {
    for (const { stop } of this.#held) stop.abort();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async take(isBulk: boolean, limit: number): Promise<HeldPush[]> {
    const claimedAt = performance.now();
    const claim = { isBulk, limit, lease: randomUUID(), leaseSeconds: LEASE_SECONDS };
    const held = (await this.jobs.claim(claim)).map((job) => ({
      job,
      stop: new AbortController(),
      heldUntil: claimedAt + LEASE_SECONDS * 1_000,
    }));
    for (const holding of held) this.#held.add(holding);
    return held;
  }

  release(push: HeldPush): void {
    this.#held.delete(push as Holding);
  }

  async #renew(): Promise<void> {
    const held = [...this.#held];
    if (held.length === 0) return;
    const heldUntil = performance.now() + LEASE_SECONDS * 1_000;
    try {
      const jobs = held.map(({ job }) => job);
      const ours = new Set(await this.jobs.renew(jobs, LEASE_SECONDS));
      for (const holding of held) holding.heldUntil = ours.has(holding.job.objectId) ? heldUntil : 0;
    } catch (error) {
      this.logger.debug(`leases could not be renewed: ${messageOf(error)}`);
    }
    for (const { heldUntil: until, stop } of held) if (performance.now() >= until) stop.abort();
  }
}

/** Reports how many pushes are due and not finished, and how long the oldest has been due. */
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

/** Limit of attempts that fail with an error other than SERVICE_UNAVAILABLE. */
const MAX_FAILURES = 5;
const FAILURE_DELAY_SECONDS = 10;

interface WorkerOptions {
  readonly isBulk: boolean;
  /** Limit of concurrent pushes. */
  readonly slots: number;
  readonly leases: PushLeases;
  readonly tools: PushTools;
  readonly onEnd: (outcome: RunEnd | 'failed') => void;
}

/** Processes the pushes of one kind, up to `slots` at once. */
export class PushWorker {
  readonly #worker: ClaimingWorker<HeldPush>;

  constructor(private readonly options: WorkerOptions) {
    const { isBulk, slots, leases, tools } = options;
    this.#worker = new ClaimingWorker({
      slots: () => slots,
      claim: async (limit) => {
        const items = await leases.take(isBulk, limit);
        return { items, isMoreDue: items.length === limit };
      },
      work: (push) => this.#workOn(push),
      logger: tools.logger,
      failureText: 'no push could be claimed',
    });
  }

  start(): void {
    this.#worker.start();
  }

  /** Claims no more pushes, and resolves when the running ones are released. */
  async stop(): Promise<void> {
    await this.#worker.stopClaiming();
    this.options.leases.stopAll();
    await this.#worker.finished();
  }

  wake(): void {
    this.#worker.wake();
  }

  async #workOn(push: HeldPush): Promise<void> {
    const { leases, tools, onEnd } = this.options;
    const { appId, objectId, isResumed, requestId, traceparent } = push.job;
    const attributes = { 'gatepost.app.id': appId, 'gatepost.push.id': objectId, 'gatepost.push.resumed': isResumed };
    try {
      const outcome = await continueTrace(traceparent, { name: 'push', attributes }, () => this.#outcomeOf(push));
      onEnd(outcome);
    } catch (error) {
      // The lease expires, and the next process that claims the push continues it.
      tools.logger.warn(`push ${objectId} is abandoned until its lease expires: ${messageOf(error)}`, { requestId });
    } finally {
      leases.release(push);
    }
  }

  async #outcomeOf({ job, stop }: HeldPush): Promise<RunEnd | 'failed'> {
    const { jobs } = this.options.tools;
    try {
      const end = await new PushRun(job, this.options.tools, stop.signal).run();
      if (end === 'stopped') await jobs.release(job, job.failures, 0);
      if (end === 'expired') await jobs.fail(job, 'The push expired before all its devices were found.');
      return end;
    } catch (error) {
      await this.#recordFailure({ job, stop }, error);
      return 'failed';
    }
  }

  async #recordFailure({ job }: HeldPush, error: unknown): Promise<void> {
    const { jobs, logger } = this.options.tools;
    const failures = job.failures + 1;
    logger.warn(`push ${job.objectId} failed, attempt ${failures}: ${messageOf(error)}`, { requestId: job.requestId });
    if (failures < MAX_FAILURES && !isFinal(error)) await jobs.release(job, failures, FAILURE_DELAY_SECONDS);
    else
      await jobs.fail(
        job,
        error instanceof AppError ? error.message : 'Internal server error. See the server log for details.',
      );
  }
}

/** The request itself is invalid. A query that timed out may succeed later. */
function isFinal(error: unknown): boolean {
  return error instanceof AppError && error.status < 500 && !error.is('QUERY_TIMED_OUT');
}
