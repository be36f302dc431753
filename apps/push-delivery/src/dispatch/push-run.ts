import type { Logger } from '@nestjs/common';
import type { Clock } from '#bootstrap';
import { AppError, messageOf } from '#errors';
import { inSpan, type Metrics } from '#observability';
import { withFewPlatforms, withTargeted } from './delivery-counts.rules.js';
import type { InstallationScanRepository } from './installation-scan.repository.js';
import { abortableSleep, Backoff, messageOfPush, type PushDelivery } from './push-delivery.js';
import type { PushJobsRepository } from './push-jobs.repository.js';
import type { PushJob, ScanPosition, TargetedInstallation } from './push.row.js';

/** So many pages a second at most, and so many devices in each at least. */
const PAGES_A_SECOND = 10;

/** Lets so many devices a second pass: a token bucket that holds what one page takes. */
class FlowControl {
  /** Devices of one page. */
  readonly pageSize: number;
  #nextAt = 0;

  constructor(private readonly devicesASecond: number) {
    this.pageSize = Math.ceil(devicesASecond / PAGES_A_SECOND);
  }

  /** Resolves when the next page may begin, or when the work is given up. */
  async turn(signal: AbortSignal): Promise<void> {
    const waitMs = this.#nextAt - performance.now();
    if (waitMs > 0) await abortableSleep(waitMs, signal);
  }

  /** Notes that so many devices have passed. */
  passed(count: number): void {
    this.#nextAt = Math.max(this.#nextAt, performance.now()) + (count / this.devicesASecond) * 1_000;
  }
}

/** Some of the installations that a push is for. */
interface ScanPage {
  readonly installations: readonly TargetedInstallation[];
  /** Up to where everything was looked at. */
  readonly position: ScanPosition;
  readonly isLast: boolean;
}

/** Installations that are looked at in one statement where a question is slow, each time that it was too slow. */
const SPANS = [2_000, 200];

/**
 * Goes through the installations of a push. As long as PostgreSQL finds the next ones in time, it is asked for so many as are
 * wanted; then for those among the next few.
 */
export class InstallationScan {
  #span: number | undefined;

  constructor(
    private readonly repository: InstallationScanRepository,
    private readonly job: PushJob,
  ) {}

  /** @throws AppError QUERY_TIMED_OUT where even a few take too long */
  async next(after: ScanPosition, limit: number): Promise<ScanPage> {
    try {
      return this.#span === undefined ? await this.#wanted(after, limit) : await this.#spanned(after, this.#span);
    } catch (error) {
      if (!(error instanceof AppError && error.is('QUERY_TIMED_OUT')) || !this.#narrow()) throw error;
      return this.next(after, limit);
    }
  }

  async #wanted(after: ScanPosition, limit: number): Promise<ScanPage> {
    const installations = await this.repository.find(this.job, { after, limit });
    return { installations, position: installations.at(-1) ?? after, isLast: installations.length < limit };
  }

  async #spanned(after: ScanPosition, span: number): Promise<ScanPage> {
    const until = await this.repository.positionAfter(this.job.appId, after, span);
    const installations = await this.repository.find(this.job, { after, until, limit: span });
    return { installations, position: until ?? installations.at(-1) ?? after, isLast: until === undefined };
  }

  /** @returns whether that can help */
  #narrow(): boolean {
    const next = this.#span === undefined ? 0 : SPANS.indexOf(this.#span) + 1;
    if (next === SPANS.length) return false;
    this.#span = SPANS[next];
    return true;
  }
}

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
