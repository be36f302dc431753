import { Injectable } from '@nestjs/common';
import type { Queryable } from '#database';
import { PushDatabase } from '../push-delivery.database.js';
import { recordWithShares } from '../vendors/vendor-batches.repository.js';
import { LEASE_SECONDS } from '../pushes/leases.js';
import { AT_TIMES, FIRST_STATISTICS, JOB_COLUMNS } from './lanes.repository.js';
import type { PushJob, ScanPosition } from '../pushes/push.row.js';
import type { VendorShare } from '../vendors/vendor-route.rules.js';

interface Progress extends Pick<PushJob, 'position' | 'counts'> {
  readonly isDone: boolean;
}

type HeldJob = Pick<PushJob, 'appId' | 'objectId' | 'lease'>;
type PositionedJob = HeldJob & Pick<PushJob, 'position'>;

/** Large pushes as jobs. Every change names the lease, so a process that has lost the lease changes nothing. */
@Injectable()
export class PushJobsRepository {
  constructor(private readonly database: PushDatabase) {}

  /** `isPaced`: those with flow control, else the others. */
  claim(limit: number, lease: string, isPaced: boolean): Promise<PushJob[]> {
    return this.database.query<PushJob>(CLAIM, [limit, lease, LEASE_SECONDS, isPaced], 'pushJobs.claim');
  }

  /** The position that earlier large pushes of the application have reached. */
  async limitOf({ appId, seq }: Pick<PushJob, 'appId' | 'seq'>): Promise<ScanPosition | undefined> {
    const [position] = await this.database.query<ScanPosition>(LIMIT_OF, [appId, seq], 'pushJobs.limitOf');
    return position;
  }

  async renew(jobs: readonly HeldJob[]): Promise<ReadonlySet<string>> {
    const keys = JSON.stringify(jobs.map(({ appId, objectId, lease }) => ({ appId, objectId, lease })));
    const rows = await this.database.query<{ objectId: string }>(RENEW, [keys, LEASE_SECONDS]);
    return new Set(rows.map(({ objectId }) => objectId));
  }

  /** @returns false, and records nothing, if the lease is lost, the push was removed, or it has left the position */
  async advance(job: PositionedJob, progress: Progress, share?: VendorShare): Promise<boolean> {
    const shares = share === undefined ? [] : [share];
    const record = (within: Queryable) => this.#advance(within, job, progress);
    return (await recordWithShares(this.database, { appId: job.appId, shares }, record)) !== undefined;
  }

  async progressOf({ appId, objectId, lease }: HeldJob): Promise<Omit<Progress, 'isDone'> | undefined> {
    const [progress] = await this.database.query<Omit<Progress, 'isDone'>>(
      `SELECT ${POSITION} AS position, counts FROM push.notifications
        WHERE app_id = $1 AND object_id = $2 AND lease_owner = $3 AND status = 'in-queue'`,
      [appId, objectId, lease],
      'pushJobs.progressOf',
    );
    return progress;
  }

  async fail({ appId, objectId, lease }: HeldJob, reason: string): Promise<void> {
    await this.database.query(
      `UPDATE push.notifications
          SET status = 'error', error = $4, next_tally_at = now() + ${FIRST_STATISTICS}, lease_until = NULL, updated_at = now()
        WHERE app_id = $1 AND object_id = $2 AND lease_owner = $3 AND status = 'in-queue'`,
      [appId, objectId, lease, reason],
    );
  }

  /** After a complete page: the next holder repeats nothing. */
  async yield({ appId, objectId, lease }: HeldJob): Promise<void> {
    await this.database.query(
      `UPDATE push.notifications SET lease_owner = NULL, lease_until = NULL
        WHERE app_id = $1 AND object_id = $2 AND lease_owner = $3 AND status = 'in-queue'`,
      [appId, objectId, lease],
      'pushJobs.yield',
    );
  }

  async release({ appId, objectId, lease }: HeldJob, failures: number, delaySeconds: number): Promise<void> {
    await this.database.query(
      `UPDATE push.notifications SET failures = $4, lease_until = now() + make_interval(secs => $5)
        WHERE app_id = $1 AND object_id = $2 AND lease_owner = $3 AND status = 'in-queue'`,
      [appId, objectId, lease, failures, delaySeconds],
    );
  }

  async #advance(
    within: Queryable,
    { appId, objectId, lease, position: old }: PositionedJob,
    { position, counts, isDone }: Progress,
  ): Promise<object | undefined> {
    const progress = [position.partition, position.objectId, JSON.stringify(counts), isDone];
    const [row] = await within.query<object>(
      ADVANCE,
      [appId, objectId, lease, ...progress, old.partition, old.objectId],
      'pushJobs.advance',
    );
    return row;
  }
}

const IS_EARLIER = `earlier.status = 'in-queue' AND earlier.is_bulk AND earlier.flow_control IS NULL`;

const POSITION = `json_build_object('partition', cursor_partition, 'objectId', cursor_object_id)`;

/** An earlier large push blocks unless it has flow control or is in a later partition. `lease_owner` marks begun pushes. */
const CLAIM = `
  WITH due AS (
    SELECT app_id, object_id, lease_owner FROM push.notifications AS n
     WHERE status = 'in-queue' AND is_bulk AND (flow_control IS NOT NULL) = $4 AND (lease_until IS NULL OR lease_until <= now())
       AND NOT EXISTS (SELECT 1 FROM push.notifications AS earlier
                        WHERE ${IS_EARLIER} AND earlier.app_id = n.app_id AND earlier.seq < n.seq
                          AND earlier.cursor_partition <= n.cursor_partition)
     ORDER BY lease_owner IS NOT NULL AND ${AT_TIMES}, due_at, seq LIMIT $1 FOR UPDATE SKIP LOCKED
  )
  UPDATE push.notifications AS n SET lease_owner = $2, lease_until = now() + make_interval(secs => $3)
    FROM due
   WHERE n.app_id = due.app_id AND n.object_id = due.object_id
  RETURNING ${JOB_COLUMNS}, n.lease_owner AS lease, due.lease_owner IS NOT NULL AS "isResumed",
            ${POSITION} AS position`;

const LIMIT_OF = `
  SELECT cursor_partition AS partition, cursor_object_id AS "objectId" FROM push.notifications AS earlier
   WHERE ${IS_EARLIER} AND app_id = $1 AND seq < $2
   ORDER BY cursor_partition, cursor_object_id COLLATE "C" LIMIT 1`;

const RENEW = `
  UPDATE push.notifications AS n SET lease_until = now() + make_interval(secs => $2)
    FROM jsonb_to_recordset($1::jsonb) AS held ("appId" text, "objectId" text, lease text)
   WHERE n.app_id = held."appId" AND n.object_id = held."objectId" AND n.lease_owner = held.lease AND n.status = 'in-queue'
  RETURNING n.object_id AS "objectId"`;

/** Names the old position: a repetition must not add a page's batches again. */
const ADVANCE = `
  UPDATE push.notifications
     SET cursor_partition = $4, cursor_object_id = $5, counts = $6, failures = 0,
         status = CASE WHEN $7 THEN 'done' ELSE status END,
         lease_until = CASE WHEN $7 THEN NULL ELSE lease_until END,
         next_tally_at = CASE WHEN $7 THEN now() + ${FIRST_STATISTICS} END,
         updated_at = CASE WHEN $7 THEN now() ELSE updated_at END
   WHERE app_id = $1 AND object_id = $2 AND lease_owner = $3 AND status = 'in-queue'
     AND cursor_partition = $8 AND cursor_object_id = $9
  RETURNING 1`;
