import type { DeliveryCounts } from '#contracts';
import { PLATFORMS } from './push-message.rules.js';
import type { NotificationCounts, PlatformCounts, TargetedInstallation } from './push.row.js';

const NONE: PlatformCounts = { targeted: 0, unreachable: 0, enqueued: 0, acknowledged: 0, overflowed: 0 };

/** What the queues count of a push. */
type QueueSums = Pick<PlatformCounts, 'enqueued' | 'acknowledged' | 'overflowed'>;

/** The platform of an installation that does not say. */
export const UNKNOWN_PLATFORM = 'unknown';

/** Where too many other names are counted already. */
const OTHER_PLATFORM = 'other';
/** Anybody with the application key makes up names; what is counted of a push stays small. */
const MAX_PLATFORMS = 32;

/** By what an installation is counted, and its body of a message chosen. */
export function platformOf({ deviceType }: Pick<TargetedInstallation, 'deviceType'>): string {
  return deviceType ?? UNKNOWN_PLATFORM;
}

/**
 * The installations, by platforms that can be counted beside those that are counted already. Those that messages have bodies
 * for keep their names. A page that is worked on again gives the same names.
 */
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

/** The counts, with the installations of one more page. */
export function withTargeted(
  counts: NotificationCounts,
  installations: readonly TargetedInstallation[],
): NotificationCounts {
  const platforms = new Map(Object.entries(counts));
  for (const installation of installations) {
    const platform = platformOf(installation);
    const { targeted, unreachable, ...others } = platforms.get(platform) ?? NONE;
    const isUnreachable = installation.installationId === null;
    platforms.set(platform, { ...others, targeted: targeted + 1, unreachable: unreachable + (isUnreachable ? 1 : 0) });
  }
  return Object.fromEntries(platforms);
}

/** The counts, with the queues' sums where these have grown: the queues forget a push some time, the counts do not. */
export function withTally(counts: NotificationCounts, tally: ReadonlyMap<string, QueueSums>): NotificationCounts {
  const platforms = new Map(Object.entries(counts));
  for (const [platform, sums] of tally) {
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

/** What became of a push on each platform. What is not settled when the message expires has expired. */
export function deliveryCountsOf(counts: NotificationCounts, isExpired: boolean): Record<string, DeliveryCounts> {
  const entries = Object.entries(counts).map(([platform, known]) => [platform, settled(known, isExpired)]);
  return Object.fromEntries(entries) as Record<string, DeliveryCounts>;
}

/** Whether nothing can change any more of a push whose devices were all found. */
export function isSettled(counts: NotificationCounts): boolean {
  return Object.values(deliveryCountsOf(counts, false)).every(({ queued }) => queued === 0);
}

/** For how many devices it is decided what became of the push, that it was not before. */
export function growthOf(
  before: NotificationCounts,
  counts: NotificationCounts,
  isOver: boolean,
): Pick<DeliveryCounts, 'delivered' | 'overflowed' | 'expired'> {
  const known = sumOf(deliveryCountsOf(before, false));
  const now = sumOf(deliveryCountsOf(counts, isOver));
  return {
    delivered: Math.max(0, now.delivered - known.delivered),
    overflowed: Math.max(0, now.overflowed - known.overflowed),
    expired: now.expired,
  };
}

function sumOf(counts: Record<string, DeliveryCounts>) {
  const platforms = Object.values(counts);
  const sum = (kind: 'delivered' | 'overflowed' | 'expired') => platforms.reduce((total, own) => total + own[kind], 0);
  return { delivered: sum('delivered'), overflowed: sum('overflowed'), expired: sum('expired') };
}

/** The scan and the queues are read one after the other: what the queues have more was enqueued between them. */
function settled({ targeted, unreachable, enqueued, ...queue }: PlatformCounts, isExpired: boolean): DeliveryCounts {
  const reachable = Math.max(targeted - unreachable, enqueued);
  const open = Math.max(0, reachable - queue.acknowledged - queue.overflowed);
  return {
    targeted: unreachable + reachable,
    delivered: queue.acknowledged,
    queued: isExpired ? 0 : open,
    expired: isExpired ? open : 0,
    overflowed: queue.overflowed,
    unreachable,
  };
}

const SHORTEST_MS = 60_000;
const LONGEST_MS = 6 * 3_600_000;
/** Acknowledgements of messages that left in time may come a little after the expiry. */
const GRACE_MS = 60_000;

/** When a push is tallied next: ever more seldom, and for the last time soon after its expiry. @returns undefined after that */
export function nextTallyAt(push: { readonly createdAt: Date; readonly expiresAt: Date }, now: Date): Date | undefined {
  const last = push.expiresAt.getTime() + GRACE_MS;
  if (now.getTime() >= last) return undefined;
  const age = now.getTime() - push.createdAt.getTime();
  return new Date(Math.min(last, now.getTime() + Math.min(LONGEST_MS, Math.max(SHORTEST_MS, age))));
}
