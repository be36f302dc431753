import { Inject, Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository, SelectQueryBuilder } from 'typeorm';
import type { deliveriesRpc, RpcData, RpcReply } from '#contracts';
import { CleanupJob, columnsOf, type Queryable } from '#database';
import { Metrics } from '#observability';
import { MAIL_CONFIG, type MailConfig, MailDatabase } from '../mail.config.js';
import { EXPIRED, WAITING, windowStart } from './deliveries.repository.js';
import { DeliveryEntity } from './delivery.entity.js';
import type { ChannelName, ClaimedRow, LoggedRow } from './delivery.rules.js';

const MAX_COUNTED = 10_000;

type ListRequest = RpcData<typeof deliveriesRpc.list>;
type DeliveryFilters = Omit<ListRequest, 'limit' | 'after' | 'counts'>;
type WantedDelivery = RpcData<typeof deliveriesRpc.get>;
type DayCounts = RpcReply<typeof deliveriesRpc.countByDay>['days'];
type StatusCounts = NonNullable<RpcReply<typeof deliveriesRpc.list>['counts']>;

function withFilters(
  query: SelectQueryBuilder<DeliveryEntity>,
  { appId, status, recipient, kind, channel, userId, from, to }: DeliveryFilters,
): SelectQueryBuilder<DeliveryEntity> {
  const equal = Object.entries({ appId, status, recipient, kind, channel, userId }).filter(
    ([, value]) => value !== undefined,
  );
  query.where(Object.fromEntries(equal));
  if (from !== undefined) query.andWhere('delivery.createdAt >= :from', { from });
  if (to !== undefined) query.andWhere('delivery.createdAt < :to', { to });
  return query;
}

/** Operators see neither the content nor the lease. */
const HIDDEN = ['sealedContent', 'lease', 'asOf', 'giveUpAt', 'traceparent'] as const;
const LOGGED = columnsOf(DeliveryEntity, { except: [...HIDDEN, 'nextAttemptAt'] });
/** A mail over the limit of its application waits for the next window. One that is due can wait for its server. */
const NEXT_ATTEMPT = `CAST(GREATEST(delivery.next_attempt_at, now(), (
  SELECT spent.window_start + make_interval(secs => CAST(:seconds AS integer)) FROM mail.allowances AS spent
   WHERE delivery.channel = 'mail' AND spent.app_id = delivery.app_id AND spent.used >= CAST(:count AS bigint)
     AND spent.window_start = ${windowStart('CAST(:seconds AS integer)')})) AS timestamptz(3))`;
const REVIVED = `status = 'queued', attempts = 0, lease = NULL, next_attempt_at = now(), settled_at = NULL,
  give_up_at = LEAST(expires_at, now() + interval '48 hours')`;
const REVIVABLE = `status = 'dead' AND expires_at > now() AND sealed_content IS NOT NULL`;
const RETRIED_AT_ONCE = 1_000;
/** Shorter than the timeout of the RPC: the caller of a longer statement has given up. */
const COUNT_TIMEOUT_MS = 3_000;
const CHANNELS = ['mail', 'sms'];
const STATUSES = ['queued', 'failed'];
const KINDS = CHANNELS.flatMap((channel) => STATUSES.map((status) => `('${channel}', '${status}')`)).join(', ');
/** Each count reads the start of `deliveries_oldest_waiting_idx` alone. */
const WAITING_COUNTS = `
  SELECT kind.channel, kind.status, count(*)::int AS count, extract(epoch FROM now() - min(created_at))::float AS seconds
    FROM (VALUES ${KINDS}) AS kind (channel, status),
         LATERAL (SELECT created_at FROM mail.deliveries AS delivery
                   WHERE ${WAITING} AND delivery.channel = kind.channel AND delivery.status = kind.status
                   ORDER BY created_at LIMIT ${MAX_COUNTED}) AS waiting
   GROUP BY kind.channel, kind.status`;
const COUNT_BY_DAY = `
  SELECT (created_at AT TIME ZONE 'UTC')::date::text AS day, (count(*) FILTER (WHERE status = 'sent'))::int AS sent,
         (count(*) FILTER (WHERE status = 'dead'))::int AS dead
    FROM mail.deliveries
   WHERE app_id = $1 AND created_at >= $2::date::timestamp AT TIME ZONE 'UTC' AND status IN ('sent', 'dead')
   GROUP BY 1 ORDER BY 1`;

@Injectable()
export class DeliveryLogRepository {
  constructor(
    @InjectRepository(DeliveryEntity, 'mail') private readonly deliveries: Repository<DeliveryEntity>,
    private readonly database: MailDatabase,
    @Inject(MAIL_CONFIG) private readonly config: Pick<MailConfig, 'mailLimit'>,
  ) {}

  list({ limit, after, ...filters }: DeliveryFilters & Pick<ListRequest, 'limit' | 'after'>): Promise<LoggedRow[]> {
    const found = withFilters(this.#select(), filters).limit(limit);
    if (after !== undefined) found.andWhere('(delivery.createdAt, delivery.id) < (:createdAt, :id)', after);
    return found.orderBy('delivery.createdAt', 'DESC').addOrderBy('delivery.id', 'DESC').getRawMany<LoggedRow>();
  }

  /** The number of deliveries by status among the newest that the other filters select. */
  async countByStatus({ status: _, ...filters }: DeliveryFilters): Promise<StatusCounts> {
    const some = withFilters(this.deliveries.createQueryBuilder('delivery'), filters)
      .select('delivery.status', 'status')
      .orderBy('delivery.createdAt', 'DESC')
      .addOrderBy('delivery.id', 'DESC')
      .limit(MAX_COUNTED + 1);
    const rows = await some.getRawMany<{ status: LoggedRow['status'] }>();
    const byStatus: Partial<Record<LoggedRow['status'], number>> = {};
    for (const { status } of rows.slice(0, MAX_COUNTED)) byStatus[status] = (byStatus[status] ?? 0) + 1;
    return { byStatus, isExact: rows.length <= MAX_COUNTED };
  }

  /** @param from the first day of UTC; days without anything are left out. @throws AppError QUERY_TIMED_OUT */
  async countByDay(appId: string, from: string, within?: Queryable): Promise<DayCounts> {
    const count = (queries: Queryable) => queries.query<DayCounts[number]>(COUNT_BY_DAY, [appId, from]);
    return within === undefined ? this.database.readInTime(COUNT_TIMEOUT_MS, count) : count(within);
  }

  find({ id, appId }: WantedDelivery): Promise<LoggedRow | undefined> {
    const where = appId === undefined ? { id } : { id, appId };
    return this.#select().where(where).getRawOne<LoggedRow>();
  }

  /** @returns undefined if the delivery is not dead or has expired */
  async revive({ id, appId }: WantedDelivery): Promise<LoggedRow | undefined> {
    const revived = await this.database.query(
      `UPDATE mail.deliveries SET ${REVIVED} WHERE id = $1 AND ($2::text IS NULL OR app_id = $2) AND ${REVIVABLE}
       RETURNING id`,
      [id, appId],
    );
    return revived.length === 0 ? undefined : this.find({ id });
  }

  /** @returns how many deliveries were revived; more may be left */
  async reviveSome(appId: string | undefined): Promise<number> {
    const revived = await this.database.query(
      `UPDATE mail.deliveries SET ${REVIVED} WHERE id IN (
         SELECT id FROM mail.deliveries WHERE ${REVIVABLE} AND ($1::text IS NULL OR app_id = $1)
          ORDER BY created_at LIMIT ${RETRIED_AT_ONCE} FOR UPDATE SKIP LOCKED)
       RETURNING id`,
      [appId],
    );
    return revived.length;
  }

  async findSealed(): Promise<Pick<ClaimedRow, 'id' | 'sealedContent'> | undefined> {
    const [row] = await this.database.query<Pick<ClaimedRow, 'id' | 'sealedContent'>>(
      `SELECT id, sealed_content AS "sealedContent" FROM mail.deliveries
        WHERE ${WAITING} AND sealed_content IS NOT NULL LIMIT 1`,
    );
    return row;
  }

  /** `count`: at most 10,000. `seconds`: the age of the oldest one. */
  waiting(
    within: Queryable = this.database,
  ): Promise<{ channel: string; status: string; count: number; seconds: number }[]> {
    return within.query(WAITING_COUNTS);
  }

  /** Raw rows: an entity would have a property for each column, also for those that are not selected. */
  #select(): SelectQueryBuilder<DeliveryEntity> {
    const { count = null, seconds = null } = this.config.mailLimit ?? {};
    const query = this.deliveries
      .createQueryBuilder('delivery')
      .select(NEXT_ATTEMPT, 'nextAttemptAt')
      .setParameters({ count, seconds });
    return LOGGED.reduce((selected, { property }) => selected.addSelect(`delivery.${property}`, property), query);
  }
}

export function sampleWaiting(log: DeliveryLogRepository, metrics: Metrics): void {
  const { deliveriesWaiting, oldestDelivery } = metrics;
  const read = async (): Promise<void> => {
    const waiting = await log.waiting();
    for (const channel of CHANNELS) {
      const own = waiting.filter((row) => row.channel === channel);
      oldestDelivery.set({ channel }, Math.max(0, ...own.map(({ seconds }) => seconds)));
      for (const status of STATUSES)
        deliveriesWaiting.set({ channel, status }, own.find((row) => row.status === status)?.count ?? 0);
    }
  };
  metrics.sample({ gauges: [deliveriesWaiting, oldestDelivery], read });
}

const INTERVAL_MS = 60_000;

/** The sender claims none of a paused provider, or of an application at its limit. */
const EXPIRING = {
  table: 'mail.deliveries',
  set: `status = 'dropped', last_error = '${EXPIRED}', sealed_content = NULL, settled_at = now()`,
  where: `${WAITING} AND expires_at <= now() AND (lease IS NULL OR next_attempt_at <= now())`,
  orderBy: 'expires_at',
};

const UNNEEDED = [
  // Operators can look up the result of a message for this time.
  { table: 'mail.deliveries', where: `settled_at < now() - interval '30 days'`, orderBy: 'settled_at' },
  // A dead delivery that has expired cannot be retried.
  {
    table: 'mail.deliveries',
    set: 'sealed_content = NULL',
    where: `status = 'dead' AND expires_at <= now() AND sealed_content IS NOT NULL`,
    orderBy: 'expires_at',
  },
  // Longer than the maximum delay of an event: a mail request that is older than the change has arrived by then.
  { table: 'mail.recipients', where: `noted_at < now() - interval '8 days'`, orderBy: 'noted_at' },
  // A window lasts one day at most.
  { table: 'mail.allowances', where: `window_start < now() - interval '2 days'` },
];

@Injectable()
export class RetentionJob extends CleanupJob {
  constructor(database: MailDatabase, metrics: Metrics) {
    const count = (channels: readonly string[]) => {
      for (const channel of channels as ChannelName[]) metrics.deliveries.inc({ channel, outcome: 'dropped' });
    };
    const unneeded = [...UNNEEDED, { ...EXPIRING, counted: { column: 'channel', count } }];
    super({ name: 'mail-cleanup', intervalMs: INTERVAL_MS, metrics, database, unneeded });
  }
}
