import { AppError } from '#errors';
import type { InstallationScanRepository } from './installation-scan.repository.js';
import type { PushJob, ScanPosition, TargetedInstallation } from './push-job.types.js';

/** Some of the installations that a push is for. */
export interface ScanPage {
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
