import { randomUUID } from 'node:crypto';
import { type BeforeApplicationShutdown, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock } from '#bootstrap';
import { PollingWorker } from '#database';
import { isAppError, messageOf } from '#errors';
import { continueTrace, FailureLog, Metrics } from '#observability';
import { InstallationScanRepository } from '../installations/installations.repository.js';
import { laneWorker } from './lane-worker.js';
import { type LaneLease, LanesRepository } from './lanes.repository.js';
import { EXPIRED, FAILURE_DELAY_SECONDS, failureOf, PushDelivery } from './push-delivery.js';
import { PushJobsRepository } from './push-jobs.repository.js';
import { PushRun, type RunEnd, type RunTools } from './push-run.js';
import { type Held, LeasedWorker } from '../pushes/leases.js';
import type { PushJob } from '../pushes/push.row.js';
import { VendorCredentials } from '../vendors/vendor-credentials.js';

/** Processes the pushes that are due: each in its turn in the lane of its application, and large ones beside it (ADR 34). */
@Injectable()
export class PushDispatcher implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly lanes: LeasedWorker<LaneLease>;
  private readonly large: readonly LeasedWorker<PushJob>[];
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
    this.large = [largeWorker('unpaced', runTools), largeWorker('paced', runTools)];
    this.lanes = laneWorker({ ...tools, lanes: scheduled, onLarge: wakeLarge });
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

/** Large pushes per process. Those with flow control (`paced`) mostly wait; each other one uses a database connection. */
const SLOTS = { paced: 16, unpaced: 3 };
/** The delays of a row of failures, after which the push ends; a finished page begins a new row. */
const DELAYS: readonly number[] = Array.from({ length: 4 }, () => FAILURE_DELAY_SECONDS);
/** PostgreSQL may be slow for a while. */
const TIMEOUT_DELAYS: readonly number[] = [FAILURE_DELAY_SECONDS, 60, 300, 900, 1_800];
const RETRY_SECONDS = 5;

type LargeTools = RunTools & { readonly metrics: Pick<Metrics, 'pushRuns'> };

/** Processes large pushes page by page. Those of one application follow each other through the partitions (ADR 34). */
export function largeWorker(pace: keyof typeof SLOTS, tools: LargeTools): LeasedWorker<PushJob> {
  const { jobs, logger } = tools;
  return new LeasedWorker<PushJob>({
    slots: () => SLOTS[pace],
    claim: async (limit) => {
      const claimed = await jobs.claim(limit, randomUUID(), pace === 'paced');
      return { claimed, isMoreDue: claimed.length === limit };
    },
    renew: async (held) => {
      const ours = await jobs.renew(held);
      return new Set(held.filter(({ objectId }) => ours.has(objectId)));
    },
    work: (push, isFull) => runLarge(push, tools, isFull),
    abandoned: ({ objectId, requestId }) => [`push ${objectId} is abandoned until its lease expires`, { requestId }],
    logger,
    claiming: 'claiming pushes',
  });
}

async function runLarge(push: Held<PushJob>, tools: LargeTools, areOthersWaiting: () => boolean): Promise<void> {
  const { appId, objectId, isResumed, traceparent } = push;
  const attributes = { 'gatepost.app.id': appId, 'gatepost.push.id': objectId, 'gatepost.push.resumed': isResumed };
  const run = new PushRun(push, tools, push.stop.signal, areOthersWaiting);
  const outcome = await continueTrace(traceparent, { name: 'push', attributes }, () => outcomeOf(run, push, tools));
  if (outcome !== 'blocked' && outcome !== 'waiting') tools.metrics.pushRuns.inc({ kind: 'large', outcome });
}

async function outcomeOf(run: PushRun, push: PushJob, tools: LargeTools): Promise<RunEnd | 'failed'> {
  const { jobs } = tools;
  try {
    const end = await run.run();
    if (end === 'stopped') await jobs.release(push, run.failures, 0);
    if (end === 'waiting') await jobs.release(push, run.failures, RETRY_SECONDS);
    if (end === 'blocked') await jobs.yield(push);
    if (end === 'expired') await jobs.fail(push, EXPIRED);
    return end;
  } catch (error) {
    await recordFailure({ ...push, failures: run.failures }, error, tools);
    return 'failed';
  }
}

async function recordFailure(push: PushJob, error: unknown, { jobs, logger }: LargeTools): Promise<void> {
  const failures = push.failures + 1;
  const { objectId, requestId } = push;
  logger.warn(`push ${objectId} failed, attempt ${failures}: ${messageOf(error)}`, { requestId });
  const delays = isAppError(error, 'QUERY_TIMED_OUT') ? TIMEOUT_DELAYS : DELAYS;
  const { isFinal, text } = failureOf(error);
  const delaySeconds = isFinal ? undefined : delays[push.failures];
  if (delaySeconds === undefined) await jobs.fail(push, text);
  else await jobs.release(push, failures, delaySeconds);
}
