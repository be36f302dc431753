import { Injectable } from '@nestjs/common';
import type { Queryable } from '#database';
import { PushDatabase } from '../push-delivery.database.js';
import { LEASE_SECONDS } from '../pushes/leases.js';
import type { NotificationCounts, PushJob } from '../pushes/push.row.js';
import { recordWithShares } from '../vendors/vendor-batches.repository.js';
import type { VendorShare } from '../vendors/vendor-route.rules.js';

export interface LaneLease {
  readonly appId: string;
  readonly lease: string;
  /** The lease of another process has expired: its last pushes may have been delivered in part. */
  readonly isTakenOver: boolean;
}

export type LanePush = Omit<PushJob, 'lease' | 'isResumed' | 'position'>;

/** `large`: the push is processed page by page beside the lane, after the delay. */
export type TurnEnd = { readonly objectId: string; readonly counts?: NotificationCounts } & (
  | { readonly status: 'done' }
  | { readonly status: 'error'; readonly error: string }
  | { readonly status: 'large'; readonly failures: number; readonly delaySeconds: number }
);

/** The lanes of applications (ADR 34): the holder of a lane is the only process that delivers its pushes. */
@Injectable()
export class LanesRepository {
  constructor(private readonly database: PushDatabase) {}

  /** @returns free lanes with waiting pushes, and whether pushes wait in other lanes */
  async claim(limit: number, lease: string): Promise<{ claimed: LaneLease[]; areOthersWaiting: boolean }> {
    const rows = await this.database.query<{ appId: string; isClaimed: boolean; isTakenOver: boolean }>(
      CLAIM,
      [limit, lease, LEASE_SECONDS],
      'lanes.claim',
    );
    const claimed = rows
      .filter(({ isClaimed }) => isClaimed)
      .map(({ appId, isTakenOver }) => ({ appId, lease, isTakenOver }));
    return { claimed, areOthersWaiting: claimed.length < rows.length };
  }

  findPushes({ appId }: LaneLease, limit: number): Promise<LanePush[]> {
    return this.database.query<LanePush>(FIND_PUSHES, [appId, limit], 'lanes.findPushes');
  }

  /** Releases the lane if no push waits. @returns `lost`, and records nothing, if another process holds the lane */
  async finish(
    lane: LaneLease,
    ends: readonly TurnEnd[],
    shares: readonly VendorShare[] = [],
  ): Promise<'more' | 'released' | 'lost'> {
    const { appId } = lane;
    const state = await recordWithShares(this.database, { appId, shares }, (within) =>
      this.#finish(within, lane, ends),
    );
    return state ?? 'lost';
  }

  /** Releases the lane after a complete group: the next holder repeats nothing. */
  async yield({ appId, lease }: LaneLease): Promise<void> {
    const sql = 'UPDATE push.lanes SET lease_owner = NULL, lease_until = NULL WHERE app_id = $1 AND lease_owner = $2';
    await this.database.query(sql, [appId, lease], 'lanes.yield');
  }

  /** Any process can claim the lane after the delay, and may repeat its last pushes. */
  async release({ appId, lease }: LaneLease, delaySeconds: number): Promise<void> {
    const sql =
      'UPDATE push.lanes SET lease_until = now() + make_interval(secs => $3) WHERE app_id = $1 AND lease_owner = $2';
    await this.database.query(sql, [appId, lease, delaySeconds], 'lanes.release');
  }

  async renew(leases: readonly LaneLease[]): Promise<ReadonlySet<LaneLease>> {
    const rows = await this.database.query<{ appId: string; lease: string }>(RENEW, [
      JSON.stringify(leases.map(({ appId, lease }) => ({ appId, lease }))),
      LEASE_SECONDS,
    ]);
    const ours = new Set(rows.map(({ appId, lease }) => `${appId} ${lease}`));
    return new Set(leases.filter(({ appId, lease }) => ours.has(`${appId} ${lease}`)));
  }

  /** @returns whether any scheduled pushes were due, and whether more may be */
  async beginDue(): Promise<{ hasBegun: boolean; isMoreDue: boolean }> {
    const { length } = await this.database.query(BEGIN_DUE, [], 'lanes.beginDue');
    return { hasBegun: length > 0, isMoreDue: length === DUE_AT_ONCE };
  }

  /** @returns the number of due, unfinished pushes, and since when the oldest without flow control is due */
  async waiting(): Promise<{ count: number; seconds: number }> {
    const [row] = await this.database.query<{ count: number; seconds: number }>(WAITING, [COUNTED], 'lanes.waiting');
    return row ?? { count: 0, seconds: 0 };
  }

  async #finish(
    within: Queryable,
    { appId, lease }: LaneLease,
    ends: readonly TurnEnd[],
  ): Promise<'more' | 'released' | undefined> {
    const [row] = await within.query<{ isHeld: boolean; isReleased: boolean }>(
      FINISH,
      [appId, lease, JSON.stringify(ends)],
      'lanes.finish',
    );
    if (row?.isHeld !== true) return undefined;
    return row.isReleased ? 'released' : 'more';
  }
}

export const FIRST_STATISTICS = `interval '10 minutes'`;

/** Columns of `n`. LIMIT makes PostgreSQL use the index; for an EXISTS it would hash the credentials of all applications. */
export const JOB_COLUMNS = `
  n.app_id AS "appId", n.object_id AS "objectId", n.seq::double precision AS seq, n.target, n.message, n.flow_control AS "flowControl",
  n.expires_at AS "expiresAt", n.counts, n.failures, n.request_id AS "requestId", n.traceparent, n.prod,
  (SELECT true FROM push.vendor_credentials AS known WHERE known.app_id = n.app_id LIMIT 1) IS NOT NULL
    OR n.message ? 'isForVendorsOnly' AS "hasVendors"`;

/** SQL: true in half of the statements. Work released during an outage is often the oldest: it must get neither every slot nor none. */
export const AT_TIMES = '(SELECT random() < 0.5)';

/** SQL: by application, the running pushes with flow control, which hold their slots for long. */
export const PACED = `
  paced AS (
    SELECT app_id, count(*) AS running FROM push.notifications
     WHERE status = 'in-queue' AND is_bulk AND flow_control IS NOT NULL AND lease_until > now() GROUP BY app_id
  )`;
/** SQL: the number of these pushes of one application, in a statement with `PACED`. */
export function pacedOf(appId: string): string {
  return `coalesce((SELECT running FROM paced WHERE paced.app_id = ${appId}), 0)`;
}

/** SQL: a due scheduled push gets the next number. An acceptance does this first, so that scheduled pushes precede those accepted after their time. */
export function beginDue(condition: string): string {
  return `
    UPDATE push.notifications AS n SET status = 'in-queue', seq = turn.seq, updated_at = now()
      FROM (SELECT app_id, object_id, nextval('push.notifications_seq_seq') AS seq
              FROM (SELECT app_id, object_id FROM push.notifications
                     WHERE status = 'scheduled' AND ${condition}
                     ORDER BY due_at, seq FOR UPDATE) AS due) AS turn
     WHERE n.app_id = turn.app_id AND n.object_id = turn.object_id
    RETURNING 1`;
}

const DUE_AT_ONCE = 2_000;
/** Bounds the time of the statement. */
const DUE_DIVIDED = 50_000;

const BEGIN_DUE = beginDue(`(app_id, object_id) IN (
  SELECT app_id, object_id
    FROM (SELECT app_id, object_id, row_number() OVER (PARTITION BY app_id ORDER BY due_at, seq) AS place
            FROM (SELECT app_id, object_id, due_at, seq FROM push.notifications
                   WHERE status = 'scheduled' AND due_at <= now() ORDER BY due_at, seq LIMIT ${DUE_DIVIDED}) AS first) AS divided
   ORDER BY place LIMIT ${DUE_AT_ONCE})`);

const IS_WAITING = `status = 'in-queue' AND NOT is_bulk AND (lease_until IS NULL OR lease_until <= now())`;

const IS_TAKEN_OVER = 'lane.lease_owner IS NOT NULL';

/** `waiting` is the first push of each application: one index look-up for each, however many wait. */
const CLAIM = `
  WITH RECURSIVE waiting AS (
    (SELECT app_id, seq AS first FROM push.notifications WHERE ${IS_WAITING} ORDER BY app_id, seq LIMIT 1)
    UNION ALL
    SELECT next.app_id, next.seq
      FROM waiting CROSS JOIN LATERAL (
        SELECT app_id, seq FROM push.notifications WHERE app_id > waiting.app_id AND ${IS_WAITING}
         ORDER BY app_id, seq LIMIT 1) AS next
  ), free AS (
    SELECT waiting.app_id, ${IS_TAKEN_OVER} AS is_taken_over
      FROM waiting LEFT JOIN push.lanes AS lane USING (app_id)
     WHERE lane.lease_until IS NULL OR lane.lease_until <= now()
     ORDER BY ${IS_TAKEN_OVER} AND ${AT_TIMES}, first LIMIT $1
  ), claimed AS (
    INSERT INTO push.lanes AS lane (app_id, lease_owner, lease_until)
    SELECT app_id, $2, now() + make_interval(secs => $3) FROM free ORDER BY app_id
    ON CONFLICT ON CONSTRAINT lanes_pkey DO UPDATE
       SET lease_owner = excluded.lease_owner, lease_until = excluded.lease_until
     WHERE lane.lease_until IS NULL OR lane.lease_until <= now()
    RETURNING app_id
  )
  SELECT waiting.app_id AS "appId", claimed.app_id IS NOT NULL AS "isClaimed",
         coalesce(free.is_taken_over, false) AS "isTakenOver"
    FROM waiting LEFT JOIN free USING (app_id) LEFT JOIN claimed USING (app_id)`;

const FIND_PUSHES = `
  SELECT ${JOB_COLUMNS} FROM push.notifications AS n
   WHERE app_id = $1 AND ${IS_WAITING} ORDER BY seq LIMIT $2`;

const FINISH = `
  WITH lane AS (
    SELECT app_id FROM push.lanes WHERE app_id = $1 AND lease_owner = $2 FOR UPDATE
  ), turns AS (
    SELECT * FROM jsonb_to_recordset($3::jsonb)
      AS turn ("objectId" text, status text, counts jsonb, error text, failures integer, "delaySeconds" double precision)
  ), finished AS (
    UPDATE push.notifications AS n
       SET status = CASE WHEN turn.status = 'large' THEN n.status ELSE turn.status END,
           is_bulk = turn.status = 'large',
           counts = coalesce(turn.counts, n.counts), error = turn.error, failures = coalesce(turn.failures, 0),
           lease_until = CASE WHEN turn.status = 'large' THEN now() + make_interval(secs => turn."delaySeconds") END,
           next_tally_at = CASE WHEN turn.status <> 'large' THEN now() + ${FIRST_STATISTICS} END,
           updated_at = CASE WHEN turn.status = 'large' THEN n.updated_at ELSE now() END
      FROM turns AS turn, lane
     WHERE n.app_id = lane.app_id AND n.object_id = turn."objectId" AND n.status = 'in-queue'
  ), released AS (
    UPDATE push.lanes SET lease_owner = NULL, lease_until = NULL
      FROM lane
     WHERE lanes.app_id = lane.app_id
       AND NOT EXISTS (SELECT 1 FROM push.notifications
                        WHERE app_id = $1 AND ${IS_WAITING} AND object_id NOT IN (SELECT "objectId" FROM turns))
    RETURNING 1
  )
  SELECT EXISTS (SELECT 1 FROM lane) AS "isHeld", EXISTS (SELECT 1 FROM released) AS "isReleased"`;

const COUNTED = 10_000;

const WAITING = `
  SELECT count(*)::int AS count,
         coalesce(greatest(extract(epoch FROM now() - min(due_at) FILTER (WHERE is_free)), 0), 0)::float AS seconds
    FROM (SELECT due_at, flow_control IS NULL AS is_free FROM push.notifications
           WHERE status IN ('scheduled', 'in-queue') AND (status = 'in-queue' OR due_at <= now())
           ORDER BY is_bulk, due_at, seq LIMIT $1) AS due`;

const RENEW = `
  UPDATE push.lanes AS lane SET lease_until = now() + make_interval(secs => $2)
    FROM jsonb_to_recordset($1::jsonb) AS held ("appId" text, lease text)
   WHERE lane.app_id = held."appId" AND lane.lease_owner = held.lease
  RETURNING lane.app_id AS "appId", lane.lease_owner AS lease`;
