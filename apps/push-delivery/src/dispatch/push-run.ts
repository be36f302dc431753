import type { Logger } from '@nestjs/common';
import type { Clock } from '#bootstrap';
import { abortableSleep, AppError, Backoff, isAppError, messageOf } from '#errors';
import { currentTraceparent, inSpan, type Metrics } from '#observability';
import { isQueued, isVendored, withFewPlatforms, withTargeted } from './delivery-counts.rules.js';
import type { InstallationScanRepository } from '../installations/installations.repository.js';
import { messageOfPush, type PushDelivery } from './push-delivery.js';
import type { PushJobsRepository } from './push-jobs.repository.js';
import type { PushJob, ScanPosition, TargetedInstallation } from '../pushes/push.row.js';
import { routePage, type VendorShare } from '../vendors/vendor-route.rules.js';
import type { VendorChannelKey } from '../vendors/vendor-channel.rules.js';

/** Delay after a failure other than SERVICE_UNAVAILABLE. */
export const FAILURE_DELAY_SECONDS = 10;
export const EXPIRED = 'The push expired before all its devices were found.';
/** The first page is small, so that the first devices get the push early. */
const FIRST_PAGE = 200;
const PAGE = 2_000;
/** Then the push gives way to others. */
const MAX_WAIT_MS = 10_000;
/** Then a push with flow control may give way to another application's. */
const MIN_TURN_MS = 1_000;
/** Pages of an earlier attempt reach further if installations were added in between, or if they were larger. */
const REPEATED_PAGES = 2;

export interface VendorDispatch {
  /** The channels of an application. @throws AppError SERVICE_UNAVAILABLE */
  channelsOf(appId: string): Promise<readonly VendorChannelKey[]>;
  batchesAdded(): void;
}

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
    private readonly areOthersHeldUp: () => boolean,
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

  #givesWay(): boolean {
    return performance.now() - this.#progressAt >= MAX_WAIT_MS && this.areOthersHeldUp();
  }

  /** Not after an attempt that may have processed a page in part: this run alone knows of it. */
  async #isTurnOfOthers(): Promise<boolean> {
    const hasHadTurn = performance.now() - this.#turnAt >= MIN_TURN_MS && this.#repeatedDevices === 0;
    if (!hasHadTurn || !this.areOthersHeldUp()) return false;
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
    const message = messageOfPush(this.#job);
    const enqueuedAt = performance.now();
    const devices = await delivery.enqueue(message, installations);
    const isRepeated = this.#repeatedDevices > 0;
    const wakeUp = { message, devices, isRepeated, enqueuedAt, traceparent: currentTraceparent() };
    await delivery.wake([wakeUp], { isBulk: true, signal: this.signal, givesWay: () => this.#givesWay() });
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

  /** Pauses before the next attempt if a dependency is unavailable. @throws every other error */
  async #pauseAfter(error: unknown): Promise<'waiting' | undefined> {
    if (!isAppError(error, 'SERVICE_UNAVAILABLE')) throw error;
    if (this.#givesWay()) return 'waiting';
    this.#repeatedDevices = Math.max(this.#repeatedDevices, REPEATED_PAGES * this.#limit());
    const pauseMs = this.#backoff.next();
    this.tools.logger.debug(`push ${this.#job.objectId} waits ${pauseMs} ms: ${messageOf(error)}`);
    await abortableSleep(pauseMs, this.signal);
    return undefined;
  }
}

/** The channel of each device; without credentials of a vendor, the devices' own queues. @throws AppError SERVICE_UNAVAILABLE */
export async function routed(
  push: Pick<PushJob, 'appId' | 'objectId' | 'message' | 'prod' | 'hasVendors'>,
  installations: readonly TargetedInstallation[],
  { vendors, isBulk }: { readonly vendors: VendorDispatch; readonly isBulk: boolean },
): Promise<{ readonly installations: readonly TargetedInstallation[]; readonly share?: VendorShare | undefined }> {
  if (!push.hasVendors) return { installations };
  return routePage(push, installations, { channels: await vendors.channelsOf(push.appId), isBulk });
}

function isBehind(position: ScanPosition, other: ScanPosition): boolean {
  return position.partition === other.partition
    ? position.objectId > other.objectId
    : position.partition > other.partition;
}

/** Call it after the progress is recorded, so that no page is counted twice. */
export function countTargeted(
  metrics: Pick<Metrics, 'pushDevices'>,
  installations: readonly TargetedInstallation[],
): void {
  const vendored = installations.filter(isVendored).length;
  const queued = installations.filter(isQueued).length;
  metrics.pushDevices.inc({ outcome: 'unreachable' }, installations.length - queued - vendored);
  metrics.pushDevices.inc({ outcome: 'queued' }, queued);
  metrics.pushDevices.inc({ outcome: 'vendor' }, vendored);
}

interface ScanPage {
  readonly installations: readonly TargetedInstallation[];
  readonly position: ScanPosition;
  readonly isLast: boolean;
}

/** Installations that one statement examines at first, after the first and after the second timeout. */
const RANGE_SIZES = [undefined, 2_000, 200];
const QUICK_MS = 250;

/** After a timeout, statements examine limited ranges, which widen again while statements are quick. */
export class InstallationScan {
  #step: number;
  #widestStep = 0;

  constructor(
    private readonly repository: InstallationScanRepository,
    private readonly job: PushJob,
  ) {
    this.#step = job.failures > 0 ? RANGE_SIZES.length - 1 : 0;
  }

  /** @param end the page does not go further @throws AppError QUERY_TIMED_OUT if the smallest range takes too long */
  async next(after: ScanPosition, limit: number, end?: ScanPosition): Promise<ScanPage> {
    const size = RANGE_SIZES[this.#step];
    const startedAt = performance.now();
    try {
      const page = await (size === undefined
        ? this.#pageByTargets(after, limit, end)
        : this.#pageByRange(after, size, end));
      if (performance.now() - startedAt < QUICK_MS) this.#step = Math.max(this.#widestStep, this.#step - 1);
      return page;
    } catch (error) {
      if (!isAppError(error, 'QUERY_TIMED_OUT') || !this.#narrow()) throw error;
      return this.next(after, limit, end);
    }
  }

  async #pageByTargets(after: ScanPosition, limit: number, end: ScanPosition | undefined): Promise<ScanPage> {
    const installations = await this.repository.find(this.job, { after, until: end, limit });
    if (installations.length < limit && end !== undefined) return { installations, position: end, isLast: false };
    return { installations, position: installations.at(-1) ?? after, isLast: installations.length < limit };
  }

  async #pageByRange(after: ScanPosition, size: number, end: ScanPosition | undefined): Promise<ScanPage> {
    const next = await this.repository.positionAfter(this.job.appId, after, size);
    const until = next === undefined || (end !== undefined && isBehind(next, end)) ? end : next;
    const installations = await this.repository.find(this.job, { after, until, limit: size });
    return { installations, position: until ?? installations.at(-1) ?? after, isLast: until === undefined };
  }

  #narrow(): boolean {
    if (this.#step === RANGE_SIZES.length - 1) return false;
    this.#step += 1;
    this.#widestStep = this.#step;
    return true;
  }
}

/** It also decides the number of devices in a page. */
const PAGES_A_SECOND = 10;

/** A token bucket of the size of one page. */
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

/** The request itself is invalid. A query that timed out may succeed later. */
export function isFinal(error: unknown): boolean {
  return error instanceof AppError && error.status < 500 && !error.is('QUERY_TIMED_OUT');
}

export function textOf(error: unknown): string {
  return error instanceof AppError ? error.message : 'Internal server error. See the server log for details.';
}
