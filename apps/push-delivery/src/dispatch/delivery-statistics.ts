import { Inject, Injectable } from '@nestjs/common';
import { Clock, PeriodicJob } from '#bootstrap';
import { Metrics } from '#observability';
import {
  DEVICE_QUEUES,
  type DeviceQueues,
  type MessageId,
  type QueueStatistics,
} from '../device-queues/device-queues.js';
import { PushDatabase } from '../push-delivery.database.js';
import type { NotificationCounts } from '../pushes/push.row.js';
import { expiredOf, growthOf, isSettled, nextStatisticsAt, withStatistics } from './delivery-counts.rules.js';

const INTERVAL_MS = 5_000;
const BATCH_SIZE = 20;

const CLAIM_TIME = `interval '1 minute'`;

interface UnsettledPush {
  readonly appId: string;
  readonly objectId: string;
  readonly counts: NotificationCounts;
  readonly dueAt: Date;
  readonly expiresAt: Date;
}

@Injectable()
export class DeliveryStatisticsRepository {
  constructor(private readonly database: PushDatabase) {}

  claim(limit: number): Promise<UnsettledPush[]> {
    return this.database.query<UnsettledPush>(CLAIM_DUE, [limit], 'deliveryStatistics.claim');
  }

  /** @param nextAt undefined if these counts are final @returns the replaced counts; undefined if the push is settled or removed */
  async record(
    { appId, objectId }: UnsettledPush,
    counts: NotificationCounts,
    nextAt: Date | undefined,
  ): Promise<NotificationCounts | undefined> {
    const values = [appId, objectId, JSON.stringify(counts), nextAt];
    const [replaced] = await this.database.query<{ counts: NotificationCounts }>(
      RECORD,
      values,
      'deliveryStatistics.record',
    );
    return replaced?.counts;
  }

  async settle({ appId, objectId }: UnsettledPush): Promise<boolean> {
    const rows = await this.database.query(SETTLE, [appId, objectId], 'deliveryStatistics.settle');
    return rows.length > 0;
  }
}

const RECORD = `
  UPDATE push.notifications AS n SET counts = $3, next_tally_at = coalesce($4, next_tally_at)
    FROM (SELECT app_id, object_id, counts FROM push.notifications
           WHERE app_id = $1 AND object_id = $2 AND next_tally_at IS NOT NULL FOR NO KEY UPDATE) AS before
   WHERE n.app_id = before.app_id AND n.object_id = before.object_id
  RETURNING before.counts`;

const SETTLE = `
  UPDATE push.notifications SET next_tally_at = NULL WHERE app_id = $1 AND object_id = $2 AND next_tally_at IS NOT NULL
  RETURNING 1`;

const CLAIM_DUE = `
  UPDATE push.notifications AS n SET next_tally_at = now() + ${CLAIM_TIME}
    FROM (SELECT app_id, object_id FROM push.notifications WHERE next_tally_at <= now()
           ORDER BY next_tally_at LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED) AS due
   WHERE n.app_id = due.app_id AND n.object_id = due.object_id
  RETURNING n.app_id AS "appId", n.object_id AS "objectId", counts, due_at AS "dueAt", expires_at AS "expiresAt"`;

/** Copies the statistics of the queues into the records of pushes until they are final; then the queues delete theirs. */
@Injectable()
export class DeliveryStatisticsWriter extends PeriodicJob {
  constructor(
    private readonly statistics: DeliveryStatisticsRepository,
    @Inject(DEVICE_QUEUES) private readonly queues: DeviceQueues,
    private readonly clock: Clock,
    private readonly metrics: Metrics,
  ) {
    super({ name: 'delivery-statistics', intervalMs: INTERVAL_MS, metrics });
  }

  async processBatch(): Promise<boolean> {
    const pushes = await this.statistics.claim(BATCH_SIZE);
    const found = await this.queues.statistics(pushes.map(messageIdOf));
    for (const [place, push] of pushes.entries()) await this.#copy(push, found[place] ?? new Map<string, never>());
    return pushes.length === BATCH_SIZE;
  }

  async #copy(push: UnsettledPush, statistics: ReadonlyMap<string, QueueStatistics>): Promise<void> {
    const counts = withStatistics(push.counts, statistics);
    const nextAt = isSettled(counts) ? undefined : nextStatisticsAt(push, this.clock.now());
    const before = await this.statistics.record(push, counts, nextAt);
    if (before === undefined) return;
    this.#count(growthOf(before, counts));
    if (nextAt !== undefined) return;
    // A failure from here on is repeated: the record has the final counts, which never shrink.
    await this.queues.forget(messageIdOf(push));
    if (await this.statistics.settle(push)) this.#count({ expired: expiredOf(counts) });
  }

  #count(devicesByOutcome: Readonly<Record<string, number>>): void {
    for (const [outcome, devices] of Object.entries(devicesByOutcome))
      this.metrics.pushDevices.inc({ outcome }, devices);
  }
}

/** Lists of records are at most two seconds old, also after the process that did this has died. */
const TOTALS_INTERVAL_MS = 500;

@Injectable()
export class DeliveryTotals extends PeriodicJob {
  constructor(
    @Inject(DEVICE_QUEUES) private readonly queues: DeviceQueues,
    metrics: Metrics,
  ) {
    super({ name: 'delivery-totals', intervalMs: TOTALS_INTERVAL_MS, metrics });
  }

  processBatch(): Promise<boolean> {
    return this.queues.addUpStatistics();
  }
}

export function messageIdOf({ appId, objectId }: Pick<UnsettledPush, 'appId' | 'objectId'>): MessageId {
  return { appId, id: objectId };
}
