import { Injectable } from '@nestjs/common';
import type { NotificationCounts } from '../notifications/notification.row.js';
import { PushDatabase } from '../push-delivery.database.js';

/** Whoever takes a push to tally it has so long; then another may. */
const TURN = `interval '1 minute'`;

/** A push whose devices were found, and whose counts in the queues may still grow. */
export interface UntalliedPush {
  readonly appId: string;
  readonly objectId: string;
  readonly counts: NotificationCounts;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

/** The copies of the queues' counts. */
@Injectable()
export class TalliesRepository {
  constructor(private readonly database: PushDatabase) {}

  /** Takes pushes that are to be tallied now. */
  take(limit: number): Promise<UntalliedPush[]> {
    return this.database.query<UntalliedPush>(TAKE, [limit], 'tallies.take');
  }

  /**
   * @param nextAt undefined where these counts are the last
   * @returns the counts that these have replaced; undefined where the push is settled or gone already
   */
  async note(
    { appId, objectId }: UntalliedPush,
    counts: NotificationCounts,
    nextAt: Date | undefined,
  ): Promise<NotificationCounts | undefined> {
    const values = [appId, objectId, JSON.stringify(counts), nextAt];
    const [replaced] = await this.database.query<{ counts: NotificationCounts }>(NOTE, values, 'tallies.note');
    return replaced?.counts;
  }
}

const NOTE = `
  UPDATE push.notifications AS n SET counts = $3, next_tally_at = $4
    FROM (SELECT app_id, object_id, counts FROM push.notifications
           WHERE app_id = $1 AND object_id = $2 AND next_tally_at IS NOT NULL FOR UPDATE) AS before
   WHERE n.app_id = before.app_id AND n.object_id = before.object_id
  RETURNING before.counts`;

const TAKE = `
  UPDATE push.notifications AS n SET next_tally_at = now() + ${TURN}
    FROM (SELECT app_id, object_id FROM push.notifications WHERE next_tally_at <= now()
           ORDER BY next_tally_at LIMIT $1 FOR UPDATE SKIP LOCKED) AS due
   WHERE n.app_id = due.app_id AND n.object_id = due.object_id
  RETURNING n.app_id AS "appId", n.object_id AS "objectId", counts, created_at AS "createdAt", expires_at AS "expiresAt"`;
