import { Inject, Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository } from 'typeorm';
import { Clock, PeriodicJob } from '#bootstrap';
import type { pushOperationsRpc, RpcReply } from '#contracts';
import { CleanupJob, type Queryable, selectList, type Tx } from '#database';
import type { CompiledCount, CompiledFind } from '#objects';
import { countRows, listBounded, QueryDatabase } from '#objects/store';
import { currentTraceparent, Metrics } from '#observability';
import { DEVICE_QUEUES, type DeviceQueues } from '../device-queues/device-queues.js';
import { UNKNOWN_PLATFORM } from '../dispatch/delivery-counts.rules.js';
import { beginDue } from '../dispatch/lanes.repository.js';
import { IS_TARGET } from '../installations/installations.repository.js';
import { PushDatabase } from '../push-delivery.database.js';
import { NotificationEntity } from '../pushes/push.entity.js';
import type { ListedNotification, NewNotification, NotificationRow, NotificationStatus } from '../pushes/push.row.js';

const UNLISTED = [
  'seq',
  'message',
  'flowControl',
  'isBulk',
  'leaseOwner',
  'leaseUntil',
  'failures',
  'cursorPartition',
  'cursorObjectId',
  'requestId',
  'traceparent',
] as const;
const LISTED = {
  table: 'push.notifications',
  columns: selectList(NotificationEntity, { except: UNLISTED }),
  size: 'octet_length(target::text) + octet_length(data::text)',
};

const COUNT_BY_DAY = `
  SELECT (created_at AT TIME ZONE 'UTC')::date::text AS day, COALESCE(sum((platform.counts ->> 'enqueued')::float8), 0) AS queued,
         COALESCE(sum((platform.counts ->> 'acknowledged')::float8), 0) AS acknowledged
    FROM push.notifications AS n LEFT JOIN LATERAL jsonb_each(n.counts) AS platform (name, counts) ON TRUE
   WHERE app_id = $1 AND created_at >= $2::date::timestamp AT TIME ZONE 'UTC'
   GROUP BY 1 ORDER BY 1`;

const IS_DUE = 'app_id = $1 AND due_at <= $12';
const MAX_BEGUN = 100;

interface Page {
  readonly limit: number;
  readonly skip: number;
}

interface AcceptedPush {
  readonly objectId: string;
  readonly createdAt: Date;
}

interface PushProgress {
  /** The partition that is searched; -1 before. */
  readonly partition: number;
  readonly requestId: string | null;
}

interface DeviceCount {
  readonly platform: string;
  readonly installations: number;
  readonly targeted: number;
}

@Injectable()
export class NotificationsRepository {
  constructor(
    private readonly database: PushDatabase,
    @InjectRepository(NotificationEntity, 'push') private readonly notifications: Repository<NotificationEntity>,
  ) {}

  /** Many due scheduled pushes come first: then the push is scheduled for now, and the dispatcher begins it after them. */
  async add(tx: Tx, row: NewNotification, status: NotificationStatus): Promise<void> {
    await tx.query(
      `WITH earlier AS (
         SELECT count(*) <= ${MAX_BEGUN} AS are_few
           FROM (SELECT 1 FROM push.notifications
                  WHERE status = 'scheduled' AND ${IS_DUE} LIMIT ${MAX_BEGUN + 1}) AS first
       ), due AS (${beginDue(`${IS_DUE} AND $4 = 'in-queue' AND (SELECT are_few FROM earlier)`)})
       INSERT INTO push.notifications
         (app_id, object_id, notification_id, status, is_bulk, target, data, message, prod, flow_control, due_at,
          expires_at, created_at, updated_at, request_id, traceparent)
       SELECT $1, $2, $3, CASE WHEN are_few THEN $4 ELSE 'scheduled' END, false, $5, $6, $7, $8, $9, $10, $11, $12, $12, $13, $14
         FROM earlier, (SELECT count(*) FROM due) AS begun`,
      [
        row.appId,
        row.objectId,
        row.notificationId,
        status,
        JSON.stringify(row.target),
        JSON.stringify(row.data),
        JSON.stringify(row.message),
        row.prod,
        row.flowControl,
        row.dueAt,
        row.expiresAt,
        row.createdAt,
        row.requestId,
        currentTraceparent(),
      ],
    );
  }

  async find(appId: string, objectId: string): Promise<NotificationRow | undefined> {
    const found = await this.notifications.findOneBy({ appId, objectId });
    return found === null ? undefined : rowOf(found);
  }

  async progressOf(appId: string, objectId: string): Promise<PushProgress | undefined> {
    const found = await this.notifications.findOne({
      select: { cursorPartition: true, requestId: true },
      where: { appId, objectId },
    });
    return found === null ? undefined : { partition: found.cursorPartition, requestId: found.requestId };
  }

  list(within: Queryable, query: CompiledFind): Promise<ListedNotification[]> {
    return listBounded<ListedNotification>(within, LISTED, query);
  }

  count(within: Queryable, query: CompiledCount): Promise<number> {
    return countRows(within, query);
  }

  async listScheduled(appId: string, { limit, skip }: Page): Promise<NotificationRow[]> {
    const where = { appId, status: 'scheduled' } as const;
    const found = await this.notifications.find({ where, order: { seq: 'ASC' }, take: limit, skip });
    return found.map(rowOf);
  }

  async findScheduled(appId: string, seq: number): Promise<NotificationRow | undefined> {
    const found = await this.notifications.findOneBy({ appId, seq: String(seq), status: 'scheduled' });
    return found === null ? undefined : rowOf(found);
  }

  /** The worker of the push notices the removal and stops. @returns whether the push existed */
  async remove(appId: string, objectId: string): Promise<boolean> {
    const sql = 'DELETE FROM push.notifications WHERE app_id = $1 AND object_id = $2 RETURNING 1';
    return (await this.database.query(sql, [appId, objectId])).length > 0;
  }

  /** A worker that begins a push locks the row, so only one of the two succeeds. @returns whether the push existed */
  async removeScheduled(appId: string, seq: number): Promise<boolean> {
    const sql = `DELETE FROM push.notifications WHERE app_id = $1 AND seq = $2 AND status = 'scheduled' RETURNING 1`;
    return (await this.database.query(sql, [appId, seq])).length > 0;
  }

  /** Of two concurrent requests the second waits for the first transaction. @returns the response to the earlier request, if any */
  async claimRequestId(
    tx: Tx,
    { appId, reqId, objectId, createdAt }: AcceptedPush & { readonly appId: string; readonly reqId: string },
  ): Promise<AcceptedPush | undefined> {
    const claimed = await tx.query(
      `INSERT INTO push.request_ids AS known (app_id, req_id, object_id, created_at) VALUES ($1, $2, $3, $4)
       ON CONFLICT ON CONSTRAINT request_ids_pkey DO UPDATE
          SET object_id = EXCLUDED.object_id, created_at = EXCLUDED.created_at
        WHERE known.created_at <= EXCLUDED.created_at - ${MEMORY}
       RETURNING 1`,
      [appId, reqId, objectId, createdAt],
    );
    if (claimed.length > 0) return undefined;
    const [first] = await tx.query<AcceptedPush>(
      `SELECT object_id AS "objectId", created_at AS "createdAt" FROM push.request_ids WHERE app_id = $1 AND req_id = $2`,
      [appId, reqId],
    );
    // The cleanup may have deleted the row between the two statements.
    return first;
  }

  /** @param from the first day in UTC; days without a push are left out */
  countByDay(
    within: Queryable,
    appId: string,
    from: string,
  ): Promise<RpcReply<typeof pushOperationsRpc.countByDay>['days']> {
    return within.query(COUNT_BY_DAY, [appId, from]);
  }

  countDevices(appId: string): Promise<DeviceCount[]> {
    return this.database.query<DeviceCount>(
      `SELECT COALESCE(device_type, $2) AS platform, count(*)::float8 AS installations,
              (count(*) FILTER (WHERE ${IS_TARGET}))::float8 AS targeted
         FROM push.installations WHERE app_id = $1 GROUP BY 1 ORDER BY 1`,
      [appId, UNKNOWN_PLATFORM],
    );
  }
}

function rowOf({ seq, ...columns }: NotificationEntity): NotificationRow {
  return { ...columns, seq: Number(seq) };
}

/** Rule of the API. */
const MEMORY = `interval '5 minutes'`;

const COUNT_INTERVAL_MS = 60_000;
const QUARTER_HOUR_MS = 900_000;
const DEPLOYMENT = '';

/** In the order of the key, so that two processes cannot wait for each other. */
const STORE_CONNECTED = `
  INSERT INTO push.connected_counts AS stored (app_id, at, connected)
  SELECT app_id, $1, connected FROM unnest($2::text[], $3::integer[]) AS counted (app_id, connected) ORDER BY app_id
  ON CONFLICT ON CONSTRAINT connected_counts_pkey DO UPDATE SET connected = EXCLUDED.connected
   WHERE stored.connected < EXCLUDED.connected`;

const CONNECTED_BY_HOUR = `
  SELECT date_trunc('hour', at, 'UTC') AS at, COALESCE(max(connected) FILTER (WHERE app_id = $1), 0) AS connected
    FROM push.connected_counts
   WHERE app_id IN ($1, '${DEPLOYMENT}') AND at >= $2::date::timestamp AT TIME ZONE 'UTC'
   GROUP BY 1 ORDER BY 1`;

/** Counts the connected devices each minute, and keeps the most of each quarter of an hour. Concurrent counts are safe. */
@Injectable()
export class ConnectedCounts extends PeriodicJob {
  constructor(
    private readonly database: PushDatabase,
    private readonly queries: QueryDatabase,
    @Inject(DEVICE_QUEUES) private readonly queues: DeviceQueues,
    private readonly clock: Clock,
    metrics: Metrics,
  ) {
    super({ name: 'connected-counts', intervalMs: COUNT_INTERVAL_MS, metrics });
  }

  /** @param from the first day in UTC @throws AppError QUERY_TIMED_OUT */
  async byHour(
    appId: string,
    from: string,
    within: Queryable = this.queries,
  ): Promise<RpcReply<typeof pushOperationsRpc.countConnectedByHour>['hours']> {
    const hours = await within.query<{ at: Date; connected: number }>(CONNECTED_BY_HOUR, [appId, from]);
    return hours.map(({ at, connected }) => ({ at: at.toISOString(), connected }));
  }

  async processBatch(): Promise<boolean> {
    const counted = [...(await this.queues.countAllConnected())].filter(([, connected]) => connected > 0);
    const all = counted.reduce((sum, [, connected]) => sum + connected, 0);
    const rows = [[DEPLOYMENT, all] as const, ...counted];
    const at = new Date(Math.floor(this.clock.now().getTime() / QUARTER_HOUR_MS) * QUARTER_HOUR_MS);
    const values = [at, rows.map(([appId]) => appId), rows.map(([, connected]) => connected)];
    await this.database.query(STORE_CONNECTED, values, 'connectedCounts.store');
    return false;
  }
}

const CLEANUP_INTERVAL_MS = 60_000;

const UNNEEDED = [
  // A week after sending (rule of the API), once the message has expired and the last counts are in the row.
  {
    table: 'push.notifications',
    where: `status IN ('done', 'error') AND due_at < now() - interval '7 days' AND expires_at < now() AND next_tally_at IS NULL`,
    orderBy: 'due_at',
  },
  // Request ids apply for five minutes; clocks may differ.
  { table: 'push.request_ids', where: `created_at < now() - interval '1 hour'`, orderBy: 'created_at' },
  { table: 'push.connected_counts', where: `at < now() - interval '30 days'`, orderBy: 'at' },
];

@Injectable()
export class PushCleanup extends CleanupJob {
  constructor(database: PushDatabase, metrics: Metrics) {
    super({ name: 'push-cleanup', intervalMs: CLEANUP_INTERVAL_MS, metrics, database, unneeded: UNNEEDED });
  }
}
