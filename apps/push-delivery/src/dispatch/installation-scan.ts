import { isAppError } from '#errors';
import type { Metrics } from '#observability';
import type { InstallationScanRepository } from '../installations/installations.repository.js';
import type { PushJob, ScanPosition, TargetedInstallation } from '../pushes/push.row.js';
import type { VendorChannelKey } from '../vendors/vendor-channel.rules.js';
import { routePage, type VendorShare } from '../vendors/vendor-route.rules.js';
import { isQueued, isVendored } from './delivery-counts.rules.js';

export interface ScanPage {
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

export function isBehind(position: ScanPosition, other: ScanPosition): boolean {
  return position.partition === other.partition
    ? position.objectId > other.objectId
    : position.partition > other.partition;
}

export interface VendorDispatch {
  channelsOf(appId: string): Promise<readonly VendorChannelKey[]>;
  batchesAdded(): void;
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
