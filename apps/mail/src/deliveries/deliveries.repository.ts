import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { Repository, SelectQueryBuilder } from 'typeorm';
import type { deliveriesRpc, RpcData, RpcReply } from '#contracts';
import type { Tx } from '#database';
import { currentTraceparent } from '#observability';
import type { MailLimit } from '../mail.config.js';
import { MailDatabase } from '../mail.database.js';
import { DeliveryEntity } from './delivery.entity.js';
import type { ChannelName, ClaimedRow, LoggedRow, QueuedRow, Settlement } from './delivery.rules.js';

/** From the clock of the database, so that all processes use the same window. */
const WINDOW_START = 'to_timestamp(floor(extract(epoch FROM now()) / $3) * $3)';

const WAITING = `status IN ('queued', 'failed')`;
const POSTPONED_AT_ONCE = 1_000;
/** Retries end after this time, even if the link is valid for longer. */
const MAX_RETRY_TIME = `interval '48 hours'`;

/** The number of processes that can claim at the same moment without one of them finding too few rows. */
const CONCURRENT_CLAIMERS = 8;

interface Allowance {
  /** How many of the requested mails may be sent in this window. */
  readonly granted: number;
  /** When the next window begins. */
  readonly until: Date;
}

interface Claim {
  readonly channel: ChannelName;
  readonly lease: string;
  readonly leaseSeconds: number;
  readonly limit: number;
}

/** Selects the deliveries to a user that were queued before `asOf` for another recipient than `recipient`. */
export interface OutdatedDeliveries {
  readonly appId: string;
  readonly userId: string;
  readonly recipient: string | null;
  readonly asOf: Date;
  readonly reason: string;
}

interface Postponed {
  readonly ids: readonly string[];
  readonly appId: string;
  readonly channel: ChannelName;
  readonly until: Date;
}

@Injectable()
export class DeliveriesRepository {
  constructor(private readonly database: MailDatabase) {}

  async add(tx: Tx, row: QueuedRow): Promise<void> {
    await tx.query(
      `INSERT INTO mail.deliveries
         (id, app_id, channel, kind, recipient, user_id, as_of, sealed_content, expires_at, give_up_at, next_attempt_at,
          traceparent)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, LEAST($9, now() + ${MAX_RETRY_TIME}), now() + make_interval(secs => $10),
               $11)`,
      [
        row.id,
        row.appId,
        row.channel,
        row.kind,
        row.recipient,
        row.userId,
        row.asOf,
        row.sealedContent,
        row.expiresAt,
        row.delaySeconds,
        currentTraceparent(),
      ],
    );
  }

  /**
   * Claims due deliveries of all applications in turn: a backlog of one application does not delay the others. Until the
   * lease ends, no other process can claim them.
   */
  claim(tx: Tx, { channel, lease, leaseSeconds, limit }: Claim): Promise<ClaimedRow[]> {
    return tx.query<ClaimedRow>(CLAIM, [channel, limit, lease, leaseSeconds, limit * CONCURRENT_CLAIMERS]);
  }

  async renew(rows: readonly Pick<ClaimedRow, 'id' | 'lease'>[], leaseSeconds: number): Promise<void> {
    await this.database.query(
      `UPDATE mail.deliveries AS d SET next_attempt_at = now() + make_interval(secs => $2)
         FROM jsonb_to_recordset($1::jsonb) AS held (id uuid, lease uuid)
        WHERE d.id = held.id AND d.lease = held.lease AND d.${WAITING}`,
      [JSON.stringify(rows.map(({ id, lease }) => ({ id, lease }))), leaseSeconds],
    );
  }

  /**
   * Stores the results of attempts whose leases still hold. A delivery that was dropped during a successful attempt counts
   * as sent. @returns the stored outcome of each
   */
  async settle(settlements: readonly Settlement[]): Promise<string[]> {
    const rows = await this.database.query<{ outcome: string }>(SETTLE, [JSON.stringify(settlements)]);
    return rows.map(({ outcome }) => outcome);
  }

  async drop(tx: Tx, ids: readonly string[], reason: string): Promise<void> {
    await tx.query(
      `UPDATE mail.deliveries
          SET status = 'dropped', last_error = $2, sealed_content = NULL, settled_at = now()
        WHERE id = ANY($1) AND ${WAITING}`,
      [ids, reason],
    );
  }

  /** Drops dead deliveries too, so that operators cannot retry them. @returns how many were dropped */
  async dropOutdated(tx: Tx, { appId, userId, recipient, asOf, reason }: OutdatedDeliveries): Promise<number> {
    const dropped = await tx.query(
      `UPDATE mail.deliveries
          SET status = 'dropped', last_error = $5, sealed_content = NULL, settled_at = now()
        WHERE app_id = $1 AND user_id = $2 AND status IN ('queued', 'failed', 'dead') AND as_of < $4 AND recipient IS DISTINCT FROM $3
       RETURNING id`,
      [appId, userId, recipient, asOf, reason],
    );
    return dropped.length;
  }

  /**
   * Postpones claimed deliveries of one application until `until` (database time), and some of its next deliveries with
   * them: otherwise the other applications wait while each of these is claimed and postponed in turn.
   */
  async postpone(tx: Tx, { ids, appId, channel, until }: Postponed): Promise<void> {
    await tx.query(
      `UPDATE mail.deliveries SET lease = NULL, next_attempt_at = $2
        WHERE id = ANY($1) OR id IN (
          SELECT id FROM mail.deliveries
           WHERE channel = $4 AND app_id = $3 AND ${WAITING} AND next_attempt_at <= now()
           ORDER BY next_attempt_at LIMIT ${POSTPONED_AT_ONCE} FOR UPDATE SKIP LOCKED)`,
      [ids, until, appId, channel],
    );
  }

  /** Counts the requested mails, granted or not: the rest is requested again in a later window. */
  async takeAllowance(tx: Tx, appId: string, wanted: number, { count, seconds }: MailLimit): Promise<Allowance> {
    const [row] = await tx.query<{ used: string; until: Date }>(
      `INSERT INTO mail.allowances AS a (app_id, window_start, used) VALUES ($1, ${WINDOW_START}, $2)
       ON CONFLICT ON CONSTRAINT allowances_pkey DO UPDATE SET used = a.used + EXCLUDED.used
       RETURNING used, window_start + make_interval(secs => $3) AS until`,
      [appId, wanted, seconds],
    );
    if (row === undefined) throw new Error('the allowance row was not returned');
    const before = Number(row.used) - wanted;
    return { granted: Math.min(wanted, Math.max(0, count - before)), until: row.until };
  }
}

const MAX_LOGGED_ATTEMPTS = 10;
/** The log with one more attempt: the oldest one makes room for it. */
const LOGGED_ATTEMPT = `
  (CASE WHEN jsonb_array_length(d.attempt_log) >= ${MAX_LOGGED_ATTEMPTS} THEN d.attempt_log - 0 ELSE d.attempt_log END)
    || jsonb_build_object('at', to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
                          'outcome', s.outcome, 'answer', s.error)`;

const SETTLE = `
  UPDATE mail.deliveries AS d
     SET status = new.status,
         attempts = d.attempts + CASE WHEN s.outcome = 'released' THEN 0 ELSE 1 END,
         attempt_log = CASE WHEN s.outcome = 'released' THEN d.attempt_log ELSE ${LOGGED_ATTEMPT} END,
         last_error = COALESCE(s.error, CASE WHEN new.status = 'sent' THEN NULL ELSE d.last_error END),
         sealed_content = CASE WHEN new.status IN ('sent', 'dropped') THEN NULL ELSE d.sealed_content END,
         next_attempt_at = now() + make_interval(secs => s."delaySeconds"),
         settled_at = CASE WHEN new.status IN ('sent', 'dead', 'dropped') THEN now() END,
         lease = NULL
    FROM jsonb_to_recordset($1::jsonb) AS s (id uuid, lease uuid, outcome text, error text, "delaySeconds" integer)
    JOIN mail.deliveries AS before ON before.id = s.id
   CROSS JOIN LATERAL (
     SELECT CASE WHEN s.outcome = 'released' THEN before.status
                 WHEN s.outcome = 'failed' AND now() + make_interval(secs => s."delaySeconds") >= before.give_up_at THEN 'dead'
                 ELSE s.outcome END) AS new (status)
   WHERE d.id = s.id AND d.lease = s.lease AND (d.status IN ('queued', 'failed') OR s.outcome = 'sent')
  RETURNING CASE WHEN s.outcome = 'released' THEN 'released' ELSE d.status END AS outcome`;

/**
 * Finds the applications with waiting deliveries one after the other (a loose index scan). The first row of each
 * application comes before the second row of any. Rows that other processes lock are skipped; the status and due time of a
 * locked row are checked again.
 */
const CLAIM = `
  WITH RECURSIVE applications (app_id) AS (
    (SELECT app_id FROM mail.deliveries WHERE channel = $1 AND ${WAITING} ORDER BY app_id, next_attempt_at LIMIT 1)
    UNION ALL
    SELECT (SELECT app_id FROM mail.deliveries
             WHERE channel = $1 AND ${WAITING} AND app_id > known.app_id ORDER BY app_id, next_attempt_at LIMIT 1)
      FROM applications AS known WHERE known.app_id IS NOT NULL
  ), next AS (
    SELECT own.id, own.turn, own.next_attempt_at
      FROM applications CROSS JOIN LATERAL (
        SELECT id, next_attempt_at, row_number() OVER (ORDER BY next_attempt_at, created_at) AS turn
          FROM mail.deliveries
         WHERE channel = $1 AND app_id = applications.app_id AND ${WAITING} AND next_attempt_at <= now()
         ORDER BY next_attempt_at, created_at LIMIT $5) AS own
     ORDER BY turn, next_attempt_at LIMIT $5
  ), due AS (
    SELECT id FROM mail.deliveries JOIN next USING (id)
     WHERE ${WAITING} AND deliveries.next_attempt_at <= now()
     ORDER BY next.turn, next.next_attempt_at LIMIT $2 FOR UPDATE OF deliveries SKIP LOCKED
  )
  UPDATE mail.deliveries AS d
     SET lease = $3, next_attempt_at = now() + make_interval(secs => $4)
    FROM due
   WHERE d.id = due.id
  RETURNING d.id, lease, app_id AS "appId", kind, recipient, sealed_content AS "sealedContent", attempts,
            created_at AS "createdAt", expires_at AS "expiresAt", expires_at <= now() AS "isExpired", traceparent`;

const MAX_COUNTED = 10_000;

type ListRequest = RpcData<typeof deliveriesRpc.list>;
type DeliveryFilters = Omit<ListRequest, 'limit' | 'after' | 'counts'>;
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

/** The columns that operators see: all but the content and the lease. */
const LOGGED: readonly (keyof LoggedRow & keyof DeliveryEntity)[] = [
  'id',
  'appId',
  'channel',
  'kind',
  'recipient',
  'userId',
  'status',
  'attempts',
  'attemptLog',
  'lastError',
  'createdAt',
  'expiresAt',
  'nextAttemptAt',
  'settledAt',
];
const REVIVED = `status = 'queued', attempts = 0, lease = NULL, next_attempt_at = now(), settled_at = NULL,
  give_up_at = LEAST(expires_at, now() + interval '48 hours')`;
const REVIVABLE = `status = 'dead' AND expires_at > now() AND sealed_content IS NOT NULL`;
const RETRIED_AT_ONCE = 1_000;

/** Lists deliveries for operators, and revives dead ones. */
@Injectable()
export class DeliveryLogRepository {
  readonly #columns: string;

  constructor(
    @InjectRepository(DeliveryEntity, 'mail') private readonly deliveries: Repository<DeliveryEntity>,
    private readonly database: MailDatabase,
  ) {
    const { columns } = deliveries.metadata;
    const logged = columns.filter(({ propertyName }) => LOGGED.some((name) => name === propertyName));
    this.#columns = logged.map(({ databaseName, propertyName }) => `${databaseName} AS "${propertyName}"`).join(', ');
  }

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

  find(id: string): Promise<LoggedRow | undefined> {
    return this.#select().where({ id }).getRawOne<LoggedRow>();
  }

  /** @returns undefined if the delivery is not dead or has expired */
  async revive(id: string): Promise<LoggedRow | undefined> {
    const [row] = await this.database.query<LoggedRow>(
      `UPDATE mail.deliveries SET ${REVIVED} WHERE id = $1 AND ${REVIVABLE} RETURNING ${this.#columns}`,
      [id],
    );
    return row;
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

  /** @returns a waiting delivery that has sealed content */
  async findSealed(): Promise<Pick<ClaimedRow, 'id' | 'sealedContent'> | undefined> {
    const [row] = await this.database.query<Pick<ClaimedRow, 'id' | 'sealedContent'>>(
      `SELECT id, sealed_content AS "sealedContent" FROM mail.deliveries
        WHERE ${WAITING} AND sealed_content IS NOT NULL LIMIT 1`,
    );
    return row;
  }

  /** @returns for each channel and status with waiting deliveries: their number, and the age of the oldest in seconds */
  waiting(): Promise<{ channel: string; status: string; count: number; seconds: number }[]> {
    return this.database.query(
      `SELECT channel, status, count(*)::int AS count, extract(epoch FROM now() - min(created_at))::float AS seconds
         FROM mail.deliveries WHERE ${WAITING} GROUP BY channel, status`,
    );
  }

  /** Raw rows: an entity would have a property for each column, also for those that are not selected. */
  #select(): SelectQueryBuilder<DeliveryEntity> {
    const query = this.deliveries.createQueryBuilder('delivery').select([]);
    return LOGGED.reduce((selected, name) => selected.addSelect(`delivery.${name}`, name), query);
  }
}
