import type { DeliveryCounts } from '#contracts';
import type { NotificationCounts, NotificationRow, PlatformCounts, TargetedInstallation } from '../pushes/push.row.js';

/** An object in `data` under one of these names is for devices of that platform only. */
export const PLATFORMS: readonly string[] = ['android', 'ios', 'macos', 'tvos', 'watchos', 'web', 'wp'];

const NONE: PlatformCounts = { targeted: 0, unreachable: 0, enqueued: 0, acknowledged: 0, overflowed: 0 };

type QueueSums = ReadonlyMap<string, Pick<PlatformCounts, 'enqueued' | 'acknowledged' | 'overflowed'>>;

export const UNKNOWN_PLATFORM = 'unknown';

const OTHER_PLATFORM = 'other';
/** Clients with the application key invent platform names, so their number per push is limited. */
const MAX_PLATFORMS = 32;

export function platformOf({ deviceType }: Pick<TargetedInstallation, 'deviceType'>): string {
  return deviceType ?? UNKNOWN_PLATFORM;
}

export function isVendored({ lane }: TargetedInstallation): boolean {
  return lane !== undefined;
}

export function isQueued(
  installation: TargetedInstallation,
): installation is TargetedInstallation & { readonly installationId: string } {
  return installation.installationId !== null && !isVendored(installation);
}

/** Replaces further platform names once the push has MAX_PLATFORMS, unless they have a body. A repeated page gives the same names. */
export function withFewPlatforms(
  counts: NotificationCounts,
  installations: readonly TargetedInstallation[],
): readonly TargetedInstallation[] {
  const names = new Set(Object.keys(counts));
  return installations.map((installation) => {
    const platform = platformOf(installation);
    if (!names.has(platform) && names.size >= MAX_PLATFORMS && !PLATFORMS.includes(platform))
      return { ...installation, deviceType: OTHER_PLATFORM };
    names.add(platform);
    return installation;
  });
}

export function withTargeted(
  counts: NotificationCounts,
  installations: readonly TargetedInstallation[],
): NotificationCounts {
  const platforms = new Map(Object.entries(counts));
  for (const installation of installations) {
    const platform = platformOf(installation);
    const known = platforms.get(platform) ?? NONE;
    const targeted = known.targeted + 1;
    if (isVendored(installation)) platforms.set(platform, { ...known, targeted, vendored: (known.vendored ?? 0) + 1 });
    else if (isQueued(installation)) platforms.set(platform, { ...known, targeted });
    else platforms.set(platform, { ...known, targeted, unreachable: known.unreachable + 1 });
  }
  return Object.fromEntries(platforms);
}

/** The larger values win: the queues delete their statistics in the end, the push keeps them. */
export function withStatistics(counts: NotificationCounts, statistics: QueueSums): NotificationCounts {
  const platforms = new Map(Object.entries(counts));
  for (const [platform, sums] of statistics) {
    const known = platforms.get(platform) ?? NONE;
    platforms.set(platform, {
      ...known,
      enqueued: Math.max(known.enqueued, sums.enqueued),
      acknowledged: Math.max(known.acknowledged, sums.acknowledged),
      overflowed: Math.max(known.overflowed, sums.overflowed),
    });
  }
  return Object.fromEntries(platforms);
}

/** Deliveries that are open when the message expires count as expired. */
export function deliveryCountsOf(
  counts: NotificationCounts,
  { isExpired }: { readonly isExpired: boolean },
): Record<string, DeliveryCounts> {
  return Object.fromEntries(Object.entries(counts).map(([platform, known]) => [platform, settled(known, isExpired)]));
}

export function isSettled(counts: NotificationCounts): boolean {
  return Object.values(deliveryCountsOf(counts, { isExpired: false })).every(({ queued }) => queued === 0);
}

export function growthOf(
  before: NotificationCounts,
  counts: NotificationCounts,
): Pick<DeliveryCounts, 'delivered' | 'overflowed'> {
  const known = sumOf(deliveryCountsOf(before, { isExpired: false }));
  const now = sumOf(deliveryCountsOf(counts, { isExpired: false }));
  return {
    delivered: Math.max(0, now.delivered - known.delivered),
    overflowed: Math.max(0, now.overflowed - known.overflowed),
  };
}

export function expiredOf(counts: NotificationCounts): number {
  return sumOf(deliveryCountsOf(counts, { isExpired: true })).expired;
}

function sumOf(counts: Record<string, DeliveryCounts>) {
  const platforms = Object.values(counts);
  const sum = (kind: 'delivered' | 'overflowed' | 'expired') => platforms.reduce((total, own) => total + own[kind], 0);
  return { delivered: sum('delivered'), overflowed: sum('overflowed'), expired: sum('expired') };
}

/** The scan and the queues are read one after the other: a surplus in the queues was enqueued in between. */
function settled(
  { targeted, unreachable, vendored = 0, enqueued, ...queue }: PlatformCounts,
  isExpired: boolean,
): DeliveryCounts {
  const reachable = Math.max(targeted - unreachable - vendored, enqueued);
  const open = Math.max(0, reachable - queue.acknowledged - queue.overflowed);
  return {
    targeted: unreachable + vendored + reachable,
    delivered: queue.acknowledged,
    queued: isExpired ? 0 : open,
    expired: isExpired ? open : 0,
    overflowed: queue.overflowed,
    unreachable,
    ...(vendored === 0 ? {} : { vendor: vendored }),
  };
}

const SHORTEST_MS = 60_000;
const LONGEST_MS = 6 * 3_600_000;
/** Acknowledgements of messages sent in time may arrive shortly after the expiry. */
const GRACE_MS = 60_000;

/** The time of the next copy of the statistics: at growing intervals, the last one soon after the expiry. @returns undefined after that */
export function nextStatisticsAt(push: Pick<NotificationRow, 'dueAt' | 'expiresAt'>, now: Date): Date | undefined {
  const last = push.expiresAt.getTime() + GRACE_MS;
  if (now.getTime() >= last) return undefined;
  const age = now.getTime() - push.dueAt.getTime();
  return new Date(Math.min(last, now.getTime() + Math.min(LONGEST_MS, Math.max(SHORTEST_MS, age))));
}
