import { Injectable } from '@nestjs/common';
import type { Queryable } from '#database';
import { PushDatabase } from '../push-delivery.database.js';
import { LEASE_SECONDS } from '../pushes/leases.js';
import type { PushJob, ScanPosition } from '../pushes/push.row.js';
import { recordWithShares } from '../vendors/vendor-batches.repository.js';
import type { VendorShare } from '../vendors/vendor-route.rules.js';
import { AT_TIMES, FIRST_STATISTICS, JOB_COLUMNS, PACED, pacedOf } from './lanes.repository.js';

interface Progress extends Pick<PushJob, 'position' | 'counts'> {
  readonly isDone: boolean;
}

type HeldJob = Pick<PushJob, 'appId' | 'objectId' | 'lease'>;

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
  async advance(
    job: HeldJob & Pick<PushJob, 'position'>,
    { position, counts, isDone }: Progress,
    share?: VendorShare,
  ): Promise<boolean> {
    const { appId, objectId, lease, position: old } = job;
    const progress = [position.partition, position.objectId, JSON.stringify(counts), isDone];
    const values = [appId, objectId, lease, ...progress, old.partition, old.objectId];
    const record = async (within: Queryable) => (await within.query<object>(ADVANCE, values, 'pushJobs.advance'))[0];
    const shares = share === undefined ? [] : [share];
    return (await recordWithShares(this.database, { appId, shares }, record)) !== undefined;
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

  async fail(job: HeldJob, reason: string): Promise<void> {
    await this.#change(job, FAILED, [reason]);
  }

  /** After a complete page: the next holder repeats nothing. */
  async yield(job: HeldJob): Promise<void> {
    await this.#change(job, 'lease_owner = NULL, lease_until = now()', []);
  }

  async release(job: HeldJob, failures: number, delaySeconds: number): Promise<void> {
    await this.#change(job, 'failures = $4, lease_until = now() + make_interval(secs => $5)', [failures, delaySeconds]);
  }

  /** Whether an application with fewer running pushes with flow control has one that is due. */
  async isTurnOfOthers({ appId }: Pick<PushJob, 'appId'>): Promise<boolean> {
    return (await this.database.query(IS_TURN_OF_OTHERS, [appId], 'pushJobs.isTurnOfOthers')).length > 0;
  }

  async #change({ appId, objectId, lease }: HeldJob, changes: string, values: readonly unknown[]): Promise<void> {
    await this.database.query(
      `UPDATE push.notifications SET ${changes} WHERE app_id = $1 AND object_id = $2 AND lease_owner = $3 AND status = 'in-queue'`,
      [appId, objectId, lease, ...values],
    );
  }
}

const IS_EARLIER = `earlier.status = 'in-queue' AND earlier.is_bulk AND earlier.flow_control IS NULL`;
const POSITION = `json_build_object('partition', cursor_partition, 'objectId', cursor_object_id)`;
const FAILED = `status = 'error', error = $4, next_tally_at = now() + ${FIRST_STATISTICS}, lease_until = NULL, updated_at = now()`;

/** An earlier large push blocks unless it has flow control or is in a later partition. */
const IS_DUE = `
  n.status = 'in-queue' AND n.is_bulk AND (n.lease_until IS NULL OR n.lease_until <= now())
    AND NOT EXISTS (SELECT 1 FROM push.notifications AS earlier
                     WHERE ${IS_EARLIER} AND earlier.app_id = n.app_id AND earlier.seq < n.seq
                       AND earlier.cursor_partition <= n.cursor_partition)`;

const IS_TURN_OF_OTHERS = `
  WITH ${PACED}
  SELECT 1 FROM push.notifications AS n
   WHERE n.app_id <> $1 AND n.flow_control IS NOT NULL AND ${IS_DUE}
     AND (${pacedOf('n.app_id')} = 0 OR ${pacedOf('n.app_id')} + 1 < ${pacedOf('$1')}) LIMIT 1`;

/** `lease_owner` marks begun pushes; one with flow control that has given way waits behind those that waited before it. */
const CLAIM = `
  WITH ${PACED}, due AS (
    SELECT app_id, object_id, lease_owner FROM push.notifications AS n
     WHERE (flow_control IS NOT NULL) = $4 AND ${IS_DUE}
     ORDER BY CASE WHEN $4 THEN ${pacedOf('n.app_id')} END, lease_owner IS NOT NULL AND ${AT_TIMES},
              CASE WHEN $4 THEN coalesce(lease_until, due_at) ELSE due_at END, seq LIMIT $1 FOR UPDATE SKIP LOCKED
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
