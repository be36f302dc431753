import { randomUUID } from 'node:crypto';
import type { Logger } from '@nestjs/common';
import type { Clock } from '#bootstrap';
import { abortableSleep, Backoff, isAppError, messageOf } from '#errors';
import { continueTrace, inSpan, type Metrics } from '#observability';
import type { InstallationScanRepository } from '../installations/installations.repository.js';
import { type Held, LeasedWorker } from '../pushes/leases.js';
import type { PushJob, TargetedInstallation } from '../pushes/push.row.js';
import type { VendorShare } from '../vendors/vendor-route.rules.js';
import { withFewPlatforms, withTargeted } from './delivery-counts.rules.js';
import {
  countTargeted,
  InstallationScan,
  isBehind,
  routed,
  type ScanPage,
  type VendorDispatch,
} from './installation-scan.js';
import {
  EXPIRED,
  FAILURE_DELAY_SECONDS,
  failureOf,
  pauseWhileUnavailable,
  type PushDelivery,
} from './push-delivery.js';
import type { PushJobsRepository } from './push-jobs.repository.js';

/** The first page is small, so that the first devices get the push early. */
const FIRST_PAGE = 200;
const PAGE = 2_000;
/** Then the push gives way to others. */
const MAX_WAIT_MS = 10_000;
/** Then a push with flow control may give way to another application's. */
const MIN_TURN_MS = 1_000;
/** Pages of an earlier attempt reach further if installations were added in between, or if they were larger. */
const REPEATED_PAGES = 2;

export interface RunTools {
  readonly vendors: VendorDispatch;
  readonly jobs: PushJobsRepository;
  readonly installations: InstallationScanRepository;
  readonly delivery: PushDelivery;
  readonly clock: Clock;
  readonly metrics: Pick<Metrics, 'pushDevices'>;
  readonly logger: Logger;
  readonly onPartition: () => void;
}

/** `lost`: held by another process, or removed; `blocked`: by an earlier push, or others' turn; `waiting`: for a dependency, while others need the slot. */
export type RunEnd = 'done' | 'expired' | 'lost' | 'stopped' | 'blocked' | 'waiting';

/** Finds devices, enqueues the message, wakes connected devices and records the progress, page by page. */
export class PushRun {
  readonly #scan: InstallationScan;
  readonly #flow: FlowControl | undefined;
  readonly #backoff = new Backoff();
  #job: PushJob;
  /** The number of following devices that an earlier attempt may have processed in part. */
  #repeatedDevices: number;
  #pageSize: number;
  #progressAt = performance.now();
  #turnAt = performance.now();

  constructor(
    job: PushJob,
    private readonly tools: RunTools,
    private readonly signal: AbortSignal,
    private readonly areOthersWaiting: () => boolean,
  ) {
    this.#job = job;
    this.#scan = new InstallationScan(tools.installations, job);
    this.#flow = job.flowControl === null ? undefined : new FlowControl(job.flowControl);
    // A resumed run begins with a page that covers the page of the earlier run.
    this.#pageSize = job.isResumed || job.position.partition >= 0 ? PAGE : FIRST_PAGE;
    this.#repeatedDevices = job.isResumed ? REPEATED_PAGES * this.#limit() : 0;
  }

  /** Failed attempts since the last finished page. */
  get failures(): number {
    return this.#job.failures;
  }

  /** @throws every error but SERVICE_UNAVAILABLE, which it waits out */
  async run(): Promise<RunEnd> {
    let end: RunEnd | undefined;
    while (end === undefined && !this.#isStopping()) {
      end = await this.#page().catch((error: unknown) => this.#pauseAfter(error));
    }
    return end ?? 'stopped';
  }

  #shouldYield(): boolean {
    return performance.now() - this.#progressAt >= MAX_WAIT_MS && this.areOthersWaiting();
  }

  /** Not after an attempt that may have processed a page in part: this run alone knows of it. */
  async #isTurnOfOthers(): Promise<boolean> {
    const hasHadTurn = performance.now() - this.#turnAt >= MIN_TURN_MS && this.#repeatedDevices === 0;
    if (!hasHadTurn || !this.areOthersWaiting()) return false;
    this.#turnAt = performance.now();
    return this.tools.jobs.isTurnOfOthers(this.#job);
  }

  #isStopping(): boolean {
    return this.signal.aborted;
  }

  async #page(): Promise<RunEnd | undefined> {
    await this.#flow?.turn(this.signal);
    if (this.tools.clock.now() >= this.#job.expiresAt) return 'expired';
    if (this.#flow !== undefined && (await this.#isTurnOfOthers())) return 'blocked';
    const until = await this.tools.jobs.limitOf(this.#job);
    if (until !== undefined && !isBehind(until, this.#job.position)) return 'blocked';
    const page = await this.#scan.next(this.#job.position, this.#limit(), until);
    if (this.#isStopping()) return 'stopped';
    const found = withFewPlatforms(this.#job.counts, page.installations);
    const { installations, share } = await routed(this.#job, found, { vendors: this.tools.vendors, isBulk: true });
    const span = { name: 'push page', attributes: { 'gatepost.push.devices': installations.length } };
    await inSpan(span, () => this.#deliver(installations));
    // After a stop some connectors may not be notified: the next holder repeats the page.
    return this.#isStopping() ? 'stopped' : this.#advance({ ...page, installations }, share);
  }

  #limit(): number {
    return Math.min(this.#pageSize, this.#flow?.pageSize ?? PAGE);
  }

  async #deliver(installations: readonly TargetedInstallation[]): Promise<void> {
    const { delivery } = this.tools;
    const wakeUp = await delivery.enqueue(this.#job, installations, this.#repeatedDevices > 0);
    await delivery.wake([wakeUp], { isBulk: true, signal: this.signal, shouldYield: () => this.#shouldYield() });
  }

  async #advance(
    { installations, position, isLast }: ScanPage,
    share: VendorShare | undefined,
  ): Promise<RunEnd | undefined> {
    const progress = { position, counts: withTargeted(this.#job.counts, installations), isDone: isLast };
    if (!(await this.tools.jobs.advance(this.#job, progress, share))) return this.#resume();
    if (share !== undefined) this.tools.vendors.batchesAdded();
    if (isLast || position.partition > this.#job.position.partition) this.tools.onPartition();
    this.#job = { ...this.#job, ...progress, failures: 0 };
    countTargeted(this.tools.metrics, installations);
    this.#flow?.passed(installations.length);
    this.#repeatedDevices = Math.max(0, this.#repeatedDevices - installations.length);
    this.#pageSize = PAGE;
    this.#backoff.reset();
    this.#progressAt = performance.now();
    return isLast ? 'done' : undefined;
  }

  /** The response to an earlier record of the page may have been lost. */
  async #resume(): Promise<'lost' | undefined> {
    const progress = await this.tools.jobs.progressOf(this.#job);
    if (progress === undefined) return 'lost';
    this.#job = { ...this.#job, ...progress };
    this.#pageSize = PAGE;
    return undefined;
  }

  async #pauseAfter(error: unknown): Promise<'waiting' | undefined> {
    const hasPaused = await pauseWhileUnavailable(error, {
      backoff: this.#backoff,
      signal: this.signal,
      shouldYield: () => this.#shouldYield(),
      log: (text) => {
        this.tools.logger.debug(`push ${this.#job.objectId} ${text}`);
      },
    });
    if (!hasPaused) return 'waiting';
    this.#repeatedDevices = Math.max(this.#repeatedDevices, REPEATED_PAGES * this.#limit());
    return undefined;
  }
}

/** It also decides the number of devices in a page. */
const PAGES_A_SECOND = 10;

class FlowControl {
  readonly pageSize: number;
  #nextAt = 0;

  constructor(private readonly devicesASecond: number) {
    this.pageSize = Math.ceil(devicesASecond / PAGES_A_SECOND);
  }

  async turn(signal: AbortSignal): Promise<void> {
    const waitMs = this.#nextAt - performance.now();
    if (waitMs > 0) await abortableSleep(waitMs, signal);
  }

  passed(count: number): void {
    this.#nextAt = Math.max(this.#nextAt, performance.now()) + (count / this.devicesASecond) * 1_000;
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
