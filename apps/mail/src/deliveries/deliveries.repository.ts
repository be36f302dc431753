import { Injectable } from '@nestjs/common';
import type { Tx } from '#database';
import { currentTraceparent } from '#observability';
import { MailDatabase, type MailLimit } from '../mail.config.js';
import { RecipientEntity } from './delivery.entity.js';
import type { ChannelName, ClaimedRow, QueuedRow, RecipientRow, Settlement } from './delivery.rules.js';

/** From the clock of the database, so that all processes use the same window. */
export const windowStart = (seconds: string): string =>
  `to_timestamp(floor(extract(epoch FROM now()) / ${seconds}) * ${seconds})`;

export const EXPIRED = 'it expired before it could be sent';
export const WAITING = `status IN ('queued', 'failed')`;
/** Retries end after this time, even if the link is valid for longer. */
const MAX_RETRY_TIME = `interval '48 hours'`;

/** The number of processes that can claim at the same moment without one of them finding too few rows. */
const CONCURRENT_CLAIMERS = 8;

interface Allowance {
  /** How many of the requested mails may be sent in this window. */
  readonly granted: number;
  readonly since: Date;
}

export interface Excluded {
  readonly paused: readonly string[];
  /** Applications of which one delivery at most is claimed. */
  readonly probed: readonly string[];
  /** Those with these ids, whose results this process has not stored yet, even if their leases have ended. */
  readonly held: readonly string[];
}

interface Claim extends Excluded {
  readonly channel: ChannelName;
  readonly lease: string;
  readonly leaseSeconds: number;
  readonly limit: number;
  /** Applications that have used it up in the current window are left out. */
  readonly mailLimit?: MailLimit | undefined;
}

/** Selects the mails to a user that were queued before `asOf` for another recipient than `recipient`. */
export interface OutdatedDeliveries {
  readonly appId: string;
  readonly userId: string;
  readonly recipient: string | null;
  readonly asOf: Date;
  readonly reason: string;
}

/** The key of a code (`SmsCodeKey` of accounts), and the time of its creation. */
type ReplacingCode = Pick<QueuedRow, 'appId' | 'kind' | 'recipient' | 'userId' | 'asOf'>;

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

  /** Applications take turns, so a backlog of one does not delay the others. Until the lease ends, no other process claims the rows. */
  claim(
    tx: Tx,
    { channel, lease, leaseSeconds, limit, paused, probed, held, mailLimit }: Claim,
  ): Promise<ClaimedRow[]> {
    const candidates = limit * CONCURRENT_CLAIMERS;
    const allowance = [mailLimit?.seconds ?? null, mailLimit?.count ?? null];
    const excluded = [paused, held, ...allowance, probed];
    return tx.query<ClaimedRow>(CLAIM, [channel, limit, lease, leaseSeconds, candidates, ...excluded]);
  }

  async renew(rows: readonly Pick<ClaimedRow, 'id' | 'lease'>[], leaseSeconds: number): Promise<void> {
    await this.database.query(
      `UPDATE mail.deliveries AS d SET next_attempt_at = now() + make_interval(secs => $2)
         FROM jsonb_to_recordset($1::jsonb) AS held (id uuid, lease uuid)
        WHERE d.id = held.id AND d.lease = held.lease AND d.${WAITING}`,
      [JSON.stringify(rows.map(({ id, lease }) => ({ id, lease }))), leaseSeconds],
    );
  }

  /** Only where the lease still holds; a delivery that was dropped during a successful attempt counts as sent. @returns each outcome */
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
        WHERE app_id = $1 AND user_id = $2 AND channel = 'mail' AND status IN ('queued', 'failed', 'dead')
          AND as_of < $4 AND recipient IS DISTINCT FROM $3
       RETURNING id`,
      [appId, userId, recipient, asOf, reason],
    );
    return dropped.length;
  }

  /** Drops earlier codes for the use, also dead ones (no retry); one being sent may arrive. @returns whether a later one exists: events have no order */
  async dropReplaced(tx: Tx, code: ReplacingCode, reason: string): Promise<boolean> {
    const { appId, kind, recipient, userId, asOf } = code;
    const sameUse = `channel = 'sms' AND app_id = $1 AND kind = $2 AND recipient = $3 AND user_id IS NOT DISTINCT FROM $4`;
    await tx.lockName(`mail.codes ${JSON.stringify([appId, kind, recipient, userId])}`);
    await tx.query(
      `UPDATE mail.deliveries SET status = 'dropped', last_error = $6, sealed_content = NULL, settled_at = now()
        WHERE ${sameUse} AND status IN ('queued', 'failed', 'dead') AND as_of < $5`,
      [appId, kind, recipient, userId, asOf, reason],
    );
    const later = await tx.query(`SELECT 1 FROM mail.deliveries WHERE ${sameUse} AND as_of > $5 LIMIT 1`, [
      appId,
      kind,
      recipient,
      userId,
      asOf,
    ]);
    return later.length > 0;
  }

  /** Ends a claim without an attempt. They are due as before, ahead of later ones. */
  async putBack(tx: Tx, ids: readonly string[]): Promise<void> {
    await tx.query('UPDATE mail.deliveries SET lease = NULL, next_attempt_at = created_at WHERE id = ANY ($1)', [ids]);
  }

  /** Counts the granted mails: the rest is requested again in a later window. */
  async takeAllowance(tx: Tx, appId: string, wanted: number, { count, seconds }: MailLimit): Promise<Allowance> {
    const [row] = await tx.query<{ used: string; since: Date }>(
      `INSERT INTO mail.allowances AS a (app_id, window_start, used) VALUES ($1, ${windowStart('$3::integer')}, $2)
       ON CONFLICT ON CONSTRAINT allowances_pkey DO UPDATE SET used = a.used + EXCLUDED.used
       RETURNING used, window_start AS since`,
      [appId, wanted, seconds],
    );
    if (row === undefined) throw new Error('the allowance row was not returned');
    const { since } = row;
    const granted = Math.min(wanted, Math.max(0, count - (Number(row.used) - wanted)));
    if (granted < wanted) await tx.query(GIVE_BACK, [appId, since, wanted - granted]);
    return { granted, since };
  }
}

export interface UserRef {
  readonly appId: string;
  readonly userId: string;
}

@Injectable()
export class RecipientsRepository {
  /** Serializes the transactions that handle events of one user, because concurrent ones do not see each other's rows. */
  async lock(tx: Tx, { appId, userId }: UserRef): Promise<void> {
    await tx.lockName(`mail.recipients ${appId} ${userId}`);
  }

  async find(tx: Tx, { appId, userId }: UserRef): Promise<RecipientRow | undefined> {
    const recipients = tx.manager.getRepository(RecipientEntity);
    return (await recipients.findOneBy({ appId, userId })) ?? undefined;
  }

  async record(tx: Tx, { appId, userId }: UserRef, { email, changedAt }: RecipientRow): Promise<void> {
    await tx.query(
      `INSERT INTO mail.recipients AS known (app_id, user_id, email, changed_at) VALUES ($1, $2, $3, $4)
       ON CONFLICT ON CONSTRAINT recipients_pkey DO UPDATE
          SET email = EXCLUDED.email, changed_at = EXCLUDED.changed_at, noted_at = now()
        WHERE known.changed_at < EXCLUDED.changed_at`,
      [appId, userId, email, changedAt],
    );
  }
}

const MAX_LOGGED_ATTEMPTS = 10;
/** The log with one more attempt, for which a full log drops the oldest one. */
const LOGGED_ATTEMPT = `
  (CASE WHEN jsonb_array_length(d.attempt_log) >= ${MAX_LOGGED_ATTEMPTS} THEN d.attempt_log - 0 ELSE d.attempt_log END)
    || jsonb_build_object('at', to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
                          'outcome', s.outcome, 'answer', s.error)`;

/** Subtracts the mails that were not granted, under the row lock of the statement that counted them. */
const GIVE_BACK = 'UPDATE mail.allowances SET used = used - $3 WHERE app_id = $1 AND window_start = $2';

/** Only where the lease holds: a result that is stored twice gives back once. In the order in which claims lock the rows. */
const SETTLE = `
  WITH settled AS (
  UPDATE mail.deliveries AS d
     SET status = new.status,
         attempts = d.attempts + CASE WHEN s.outcome = 'released' THEN 0 ELSE 1 END,
         attempt_log = CASE WHEN s.outcome = 'released' THEN d.attempt_log ELSE ${LOGGED_ATTEMPT} END,
         last_error = COALESCE(s.error, CASE WHEN new.status = 'sent' THEN NULL ELSE d.last_error END),
         sealed_content = CASE WHEN new.status IN ('sent', 'dropped') THEN NULL ELSE d.sealed_content END,
         next_attempt_at = now() + make_interval(secs => s."delaySeconds"),
         settled_at = CASE WHEN new.status IN ('sent', 'dead', 'dropped') THEN now() END,
         lease = NULL
    FROM jsonb_to_recordset($1::jsonb)
      AS s (id uuid, lease uuid, outcome text, error text, "delaySeconds" integer, "countedIn" timestamptz)
    JOIN mail.deliveries AS before ON before.id = s.id
   CROSS JOIN LATERAL (
     SELECT CASE WHEN s.outcome = 'released' THEN before.status
                 WHEN s.outcome = 'failed' AND now() + make_interval(secs => s."delaySeconds") >= before.give_up_at THEN 'dead'
                 ELSE s.outcome END) AS new (status)
   WHERE d.id = s.id AND d.lease = s.lease AND (d.status IN ('queued', 'failed') OR s.outcome = 'sent')
  RETURNING CASE WHEN s.outcome = 'released' THEN 'released' ELSE d.status END AS outcome, d.app_id, s."countedIn" AS counted_in
  ), unused AS (
    SELECT app_id, counted_in, count(*) AS mails FROM settled
     WHERE outcome = 'released' AND counted_in IS NOT NULL GROUP BY app_id, counted_in
  ), windows AS (
    SELECT app_id, window_start, mails FROM mail.allowances AS a
      JOIN unused USING (app_id) WHERE a.window_start = unused.counted_in ORDER BY app_id FOR UPDATE OF a
  ), given_back AS (
    UPDATE mail.allowances AS a SET used = GREATEST(0, a.used - windows.mails)
      FROM windows WHERE a.app_id = windows.app_id AND a.window_start = windows.window_start
  )
  SELECT outcome FROM settled`;

/** A loose index scan over the applications: the first row of each comes before the second row of any. Locked rows are checked again. */
const CLAIM = `
  WITH RECURSIVE applications (app_id) AS (
    (SELECT app_id FROM mail.deliveries WHERE channel = $1 AND ${WAITING} ORDER BY app_id, next_attempt_at LIMIT 1)
    UNION ALL
    SELECT (SELECT app_id FROM mail.deliveries
             WHERE channel = $1 AND ${WAITING} AND app_id > known.app_id ORDER BY app_id, next_attempt_at LIMIT 1)
      FROM applications AS known WHERE known.app_id IS NOT NULL
  ), open AS MATERIALIZED (
    SELECT app_id FROM applications
     WHERE app_id <> ALL ($6) AND NOT EXISTS (
       SELECT 1 FROM mail.allowances AS spent
        WHERE spent.app_id = applications.app_id AND spent.window_start = ${windowStart('$8::integer')}
          AND spent.used >= $9::bigint)
  ), next AS (
    SELECT own.id, own.turn, own.next_attempt_at
      FROM open CROSS JOIN LATERAL (
        SELECT id, next_attempt_at, row_number() OVER (ORDER BY next_attempt_at, created_at) AS turn
          FROM mail.deliveries
         WHERE channel = $1 AND app_id = open.app_id AND ${WAITING} AND next_attempt_at <= now()
           AND id <> ALL ($7)
         ORDER BY next_attempt_at, created_at LIMIT $5) AS own
     WHERE own.turn = 1 OR open.app_id <> ALL ($10)
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
