import type { Logger } from '@nestjs/common';
import type { Clock } from '#bootstrap';
import { AppError, messageOf } from '#errors';
import { inSpan, type Metrics } from '#observability';
import { abortableSleep } from './abortable-sleep.js';
import { Backoff } from './backoff.js';
import { withFewPlatforms, withTargeted } from './delivery-counts.rules.js';
import { FlowControl } from './flow-control.js';
import { InstallationScan, type ScanPage } from './installation-scan.js';
import type { InstallationScanRepository } from './installation-scan.repository.js';
import { messageOfPush, type PushDelivery } from './push-delivery.js';
import type { PushJob, TargetedInstallation } from './push-job.types.js';
import type { PushJobsRepository } from './push-jobs.repository.js';

/** The first devices of a push shall not wait until many are found. */
const FIRST_PAGE = 200;
const PAGE = 2_000;
/** What somebody did of a page before reaches into the next one where installations have come meanwhile. */
const REPEATED_PAGES = 2;

/** What a push is worked on with. */
export interface PushTools {
  readonly jobs: PushJobsRepository;
  readonly installations: InstallationScanRepository;
  readonly delivery: PushDelivery;
  readonly clock: Clock;
  readonly metrics: Pick<Metrics, 'pushDevices'>;
  readonly logger: Logger;
}

/**
 * How work on a push ended: all devices found; its time was over before; somebody else has it, or it is gone; we were told
 * to stop.
 */
export type RunEnd = 'done' | 'expired' | 'lost' | 'stopped';

/** Works on one push, page after page: find devices, put the message into their queues, tell those connected, note how far it came. */
export class PushRun {
  readonly #scan: InstallationScan;
  readonly #flow: FlowControl | undefined;
  readonly #backoff = new Backoff();
  #job: PushJob;
  /** Pages to come of which something may have been done already. */
  #repeatedPages: number;
  #pageSize: number;

  constructor(
    job: PushJob,
    private readonly tools: PushTools,
    private readonly signal: AbortSignal,
  ) {
    this.#job = job;
    this.#repeatedPages = job.isResumed ? REPEATED_PAGES : 0;
    this.#scan = new InstallationScan(tools.installations, job);
    this.#flow = job.flowControl === null ? undefined : new FlowControl(job.flowControl);
    // A page that covers what was done before, whoever did it.
    this.#pageSize = job.isResumed ? PAGE : FIRST_PAGE;
  }

  /** @throws whatever will not be mended by waiting */
  async run(): Promise<RunEnd> {
    let end: RunEnd | undefined;
    while (end === undefined && !this.#isStopping()) {
      end = await this.#page().catch((error: unknown) => this.#rest(error));
    }
    return end ?? 'stopped';
  }

  #isStopping(): boolean {
    return this.signal.aborted;
  }

  /** @returns how it ended, or undefined where there is more to do */
  async #page(): Promise<RunEnd | undefined> {
    await this.#flow?.turn(this.signal);
    if (this.tools.clock.now() >= this.#job.expiresAt) return 'expired';
    const page = await this.#scan.next(this.#job.position, Math.min(this.#pageSize, this.#flow?.pageSize ?? PAGE));
    if (this.#isStopping()) return 'stopped';
    const installations = withFewPlatforms(this.#job.counts, page.installations);
    const how = { isRepeated: this.#repeatedPages > 0, signal: this.signal };
    const span = { name: 'push page', attributes: { 'gatepost.push.devices': installations.length } };
    await inSpan(span, () => this.tools.delivery.deliver(messageOfPush(this.#job), installations, how));
    // Told to stop, it may not have told every connector: the page is another's.
    return this.#isStopping() ? 'stopped' : this.#advance({ ...page, installations });
  }

  async #advance({ installations, position, isLast }: ScanPage): Promise<RunEnd | undefined> {
    const progress = { position, counts: withTargeted(this.#job.counts, installations), isDone: isLast };
    if (!(await this.tools.jobs.advance(this.#job, progress))) return 'lost';
    this.#job = { ...this.#job, ...progress };
    this.#count(installations);
    this.#flow?.passed(installations.length);
    this.#repeatedPages = Math.max(0, this.#repeatedPages - 1);
    this.#pageSize = PAGE;
    this.#backoff.reset();
    return isLast ? 'done' : undefined;
  }

  /** Once the page is noted: nobody works on it again. */
  #count(installations: readonly TargetedInstallation[]): void {
    const unreachable = installations.filter(({ installationId }) => installationId === null).length;
    this.tools.metrics.pushDevices.inc({ outcome: 'unreachable' }, unreachable);
    this.tools.metrics.pushDevices.inc({ outcome: 'queued' }, installations.length - unreachable);
  }

  /** Waits where something is away that will come back. */
  async #rest(error: unknown): Promise<undefined> {
    if (!(error instanceof AppError && error.is('SERVICE_UNAVAILABLE'))) throw error;
    this.#repeatedPages = REPEATED_PAGES;
    const pauseMs = this.#backoff.next();
    this.tools.logger.debug(`push ${this.#job.objectId} waits ${pauseMs} ms: ${messageOf(error)}`);
    await abortableSleep(pauseMs, this.signal);
    return undefined;
  }
}
