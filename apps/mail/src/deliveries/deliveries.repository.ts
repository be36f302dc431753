import { Injectable } from '@nestjs/common';
import type { Tx } from '#database';
import { currentTraceparent } from '#observability';
import type { MailLimit } from '../mail.config.js';
import { MailDatabase } from '../mail.database.js';
import type { ChannelName, ClaimedRow, QueuedRow, Settlement } from './delivery.rules.js';

/** The database's clock tells the window, so that all processes mean the same one. */
const WINDOW_START = 'to_timestamp(floor(extract(epoch FROM now()) / $3) * $3)';

const WAITING = `status IN ('queued', 'failed')`;
const POSTPONED_AT_ONCE = 1_000;
/** However long a link is good, nobody tries longer. */
const LONGEST_TRY = `interval '48 hours'`;

/** So many can claim in the same moment, and each still finds as many as it wants. */
const CLAIMANTS = 8;

/** How much of what an application wants it gets in this window. */
interface Allowance {
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

/** What is no longer owed to a user: what was queued before `asOf` to another recipient than `recipient`. */
export interface NoLongerOwed {
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
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, LEAST($9, now() + ${LONGEST_TRY}), now() + make_interval(secs => $10),
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
   * Takes deliveries that are due, of all applications in turn: one that has thousands waiting holds up no other. Until the
   * lease is over, nobody else gets them.
   */
  claim(tx: Tx, { channel, lease, leaseSeconds, limit }: Claim): Promise<ClaimedRow[]> {
    return tx.query<ClaimedRow>(CLAIM, [channel, limit, lease, leaseSeconds, limit * CLAIMANTS]);
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
   * Notes what became of attempts, as far as their leases still hold. What was dropped meanwhile and left all the same, was
   * sent. @returns what was noted, one by one
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

  /** Dead ones too: nobody shall send them again. @returns how many were dropped */
  async dropNoLongerOwed(tx: Tx, { appId, userId, recipient, asOf, reason }: NoLongerOwed): Promise<number> {
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
   * Puts claimed deliveries of one application back until the time that the database calls `until`, and with them some of
   * those that would come next: others shall not wait until they have been taken and put back one by one.
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

  /** Counts what an application wants, granted or not: what was too much is asked for again in a later window. */
  async takeAllowance(tx: Tx, appId: string, wanted: number, { count, seconds }: MailLimit): Promise<Allowance> {
    const [row] = await tx.query<{ used: string; until: Date }>(
      `INSERT INTO mail.allowances AS a (app_id, window_start, used) VALUES ($1, ${WINDOW_START}, $2)
       ON CONFLICT ON CONSTRAINT allowances_pkey DO UPDATE SET used = a.used + EXCLUDED.used
       RETURNING used, window_start + make_interval(secs => $3) AS until`,
      [appId, wanted, seconds],
    );
    if (row === undefined) throw new Error('an allowance was not written');
    const before = Number(row.used) - wanted;
    return { granted: Math.min(wanted, Math.max(0, count - before)), until: row.until };
  }
}

const SETTLE = `
  UPDATE mail.deliveries AS d
     SET status = new.status,
         attempts = d.attempts + CASE WHEN s.outcome = 'released' THEN 0 ELSE 1 END,
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
 * The applications that have something waiting are looked up one after the other (a loose index scan); then the first row of
 * each comes before the second of any. What others claim meanwhile is skipped, and seen as it is once it is locked.
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
