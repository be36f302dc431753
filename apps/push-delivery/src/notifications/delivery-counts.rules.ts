import type { DeliveryCounts } from '#contracts';
import type { NotificationCounts, PlatformCounts, QueueSums } from './notification.row.js';

const NOTHING: PlatformCounts = { targeted: 0, unreachable: 0, enqueued: 0, acknowledged: 0, overflowed: 0 };

/** By platform. */
export type PlatformDeliveries = Readonly<Record<string, DeliveryCounts>>;

/**
 * What became of a push, from what is counted. What is neither acknowledged nor dropped is queued until the message expires, and has
 * expired then. The scan's count may lag behind the queues' (it is written after them): nobody is queued who was not targeted.
 */
export function deliveriesOf(counts: NotificationCounts, isExpired: boolean): PlatformDeliveries {
  return Object.fromEntries(Object.entries(counts).map(([platform, each]) => [platform, delivery(each, isExpired)]));
}

/**
 * The counts with the queues' own sums, by platform. Sums only grow, so the larger ones are newer, and what the queues have forgotten
 * stays as it was.
 */
export function withTally(counts: NotificationCounts, tally: ReadonlyMap<string, QueueSums>): NotificationCounts {
  const platforms = new Set([...Object.keys(counts), ...tally.keys()]);
  return Object.fromEntries(
    [...platforms].map((platform) => {
      const known = counts[platform] ?? NOTHING;
      const told = tally.get(platform) ?? NOTHING;
      return [
        platform,
        {
          ...known,
          enqueued: Math.max(known.enqueued, told.enqueued),
          acknowledged: Math.max(known.acknowledged, told.acknowledged),
          overflowed: Math.max(known.overflowed, told.overflowed),
        },
      ];
    }),
  );
}

/** The sum over all platforms. */
export function totalOf(deliveries: PlatformDeliveries, count: keyof DeliveryCounts): number {
  return Object.values(deliveries).reduce((sum, each) => sum + each[count], 0);
}

function delivery(counts: PlatformCounts, isExpired: boolean): DeliveryCounts {
  const { unreachable, acknowledged: delivered, overflowed } = counts;
  const targeted = Math.max(counts.targeted, counts.enqueued + unreachable, delivered + overflowed + unreachable);
  const left = targeted - unreachable - delivered - overflowed;
  return { targeted, delivered, queued: isExpired ? 0 : left, expired: isExpired ? left : 0, overflowed, unreachable };
}
