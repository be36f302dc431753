import { Injectable } from '@nestjs/common';
import { PushDatabase } from '../push-delivery.database.js';
import type { Progress, PushJob } from './push.row.js';

/** A push and the lease that it is held under. */
type HeldJob = Pick<PushJob, 'appId' | 'objectId' | 'lease'>;

interface JobClaim {
  readonly isBulk: boolean;
  readonly limit: number;
  readonly lease: string;
  readonly leaseSeconds: number;
}

/** Pushes as jobs. Every change names the lease, so a process that has lost the lease changes nothing. */
@Injectable()
export class PushJobsRepository {
  constructor(private readonly database: PushDatabase) {}

  /** Claims pushes that are due. No other process gets them before the lease expires. */
  claim({ isBulk, limit, lease, leaseSeconds }: JobClaim): Promise<PushJob[]> {
    return this.database.query<PushJob>(CLAIM, [isBulk, limit, lease, leaseSeconds], 'pushJobs.claim');
  }

  /** @returns the number of pushes that are due and not finished, and for how many seconds the oldest without flow control has been due */
  async waiting(): Promise<{ count: number; seconds: number }> {
    const [row] = await this.database.query<{ count: number; seconds: number }>(WAITING, [COUNTED], 'pushJobs.waiting');
    return row ?? { count: 0, seconds: 0 };
  }

  /** @returns the object ids of the pushes whose leases this process still held */
  async renew(jobs: readonly HeldJob[], leaseSeconds: number): Promise<string[]> {
    const rows = await this.database.query<{ objectId: string }>(RENEW, [keysOf(jobs), leaseSeconds]);
    return rows.map(({ objectId }) => objectId);
  }

  /** Records the progress of a push. @returns false if the lease is lost or the push was removed */
  async advance({ appId, objectId, lease }: HeldJob, { position, counts, isDone }: Progress): Promise<boolean> {
    const rows = await this.database.query(
      ADVANCE,
      [appId, objectId, lease, position.partition, position.objectId, JSON.stringify(counts), isDone],
      'pushJobs.advance',
    );
    return rows.length > 0;
  }

  /** Ends a push that cannot be completed. */
  async fail({ appId, objectId, lease }: HeldJob, reason: string): Promise<void> {
    await this.database.query(
      `UPDATE push.notifications
          SET status = 'error', error = $4, next_tally_at = now() + ${FIRST_STATISTICS}, lease_until = NULL, updated_at = now()
        WHERE app_id = $1 AND object_id = $2 AND lease_owner = $3 AND status = 'in-queue'`,
      [appId, objectId, lease, reason],
    );
  }

  /** Releases a push; any process can claim it after the delay. */
  async release({ appId, objectId, lease }: HeldJob, failures: number, delaySeconds: number): Promise<void> {
    await this.database.query(
      `UPDATE push.notifications SET failures = $4, lease_until = now() + make_interval(secs => $5)
        WHERE app_id = $1 AND object_id = $2 AND lease_owner = $3 AND status = 'in-queue'`,
      [appId, objectId, lease, failures, delaySeconds],
    );
  }
}

function keysOf(jobs: readonly HeldJob[]): string {
  return JSON.stringify(jobs.map(({ appId, objectId, lease }) => ({ appId, objectId, lease })));
}

/** Until then, requests read the statistics from the queues. */
const FIRST_STATISTICS = `interval '10 minutes'`;

/**
 * A push accepted for immediate delivery does not wait for a clock that is behind. `lease_owner` stays when a lease ends: the next
 * holder sees that the push was worked on before.
 */
const CLAIM = `
  WITH due AS (
    SELECT app_id, object_id, lease_owner FROM push.notifications
     WHERE status IN ('scheduled', 'in-queue') AND is_bulk = $1 AND (status = 'in-queue' OR due_at <= now())
       AND (lease_until IS NULL OR lease_until <= now())
     ORDER BY due_at, seq LIMIT $2 FOR UPDATE SKIP LOCKED
  )
  UPDATE push.notifications AS n
     SET status = 'in-queue', lease_owner = $3, lease_until = now() + make_interval(secs => $4),
         updated_at = CASE WHEN n.status = 'scheduled' THEN now() ELSE n.updated_at END
    FROM due
   WHERE n.app_id = due.app_id AND n.object_id = due.object_id
  RETURNING n.app_id AS "appId", n.object_id AS "objectId", is_bulk AS "isBulk", seq::double precision AS seq, target, message,
            flow_control AS "flowControl", expires_at AS "expiresAt", counts, failures, n.lease_owner AS lease, request_id AS "requestId", traceparent,
            due.lease_owner IS NOT NULL AS "isResumed",
            json_build_object('partition', cursor_partition, 'objectId', cursor_object_id) AS position`;

/** Limit of the count: its exact value does not matter above this. */
const COUNTED = 10_000;

const WAITING = `
  SELECT count(*)::int AS count,
         coalesce(greatest(extract(epoch FROM now() - min(due_at) FILTER (WHERE is_free)), 0), 0)::float AS seconds
    FROM (SELECT due_at, flow_control IS NULL AS is_free FROM push.notifications
           WHERE status IN ('scheduled', 'in-queue') AND (status = 'in-queue' OR due_at <= now())
           ORDER BY is_bulk, due_at, seq LIMIT $1) AS due`;

const RENEW = `
  UPDATE push.notifications AS n SET lease_until = now() + make_interval(secs => $2)
    FROM jsonb_to_recordset($1::jsonb) AS held ("appId" text, "objectId" text, lease text)
   WHERE n.app_id = held."appId" AND n.object_id = held."objectId" AND n.lease_owner = held.lease AND n.status = 'in-queue'
  RETURNING n.object_id AS "objectId"`;

const ADVANCE = `
  UPDATE push.notifications
     SET cursor_partition = $4, cursor_object_id = $5, counts = $6, failures = 0,
         status = CASE WHEN $7 THEN 'done' ELSE status END,
         lease_until = CASE WHEN $7 THEN NULL ELSE lease_until END,
         next_tally_at = CASE WHEN $7 THEN now() + ${FIRST_STATISTICS} END,
         updated_at = CASE WHEN $7 THEN now() ELSE updated_at END
   WHERE app_id = $1 AND object_id = $2 AND lease_owner = $3 AND status = 'in-queue'
  RETURNING 1`;
