import { Injectable } from '@nestjs/common';
import type { Tx } from '#database';

/** Old rows that one new message takes away. */
const CLEANED_AT_ONCE = 20;

/** So many messages within any time of that length. */
interface Bound {
  readonly most: number;
  /** As PostgreSQL writes it: `10 seconds`. */
  readonly within: string;
}

/** How many messages a recipient may get, and the table that remembers them. */
interface AllowanceBounds {
  readonly table: string;
  readonly recipientColumn: string;
  readonly short: Bound;
  readonly long: Bound;
}

/** A recipient of an application. */
interface Recipient {
  readonly appId: string;
  readonly recipient: string;
}

/** Bounds the messages to a recipient, whatever they are for: in a short time, and in a long one. */
abstract class MessageAllowancesRepository {
  protected constructor(private readonly bounds: AllowanceBounds) {}

  /** Takes note of a message, where the recipient may get one. Of many at once no more are taken than may be. */
  async take(tx: Tx, { appId, recipient }: Recipient, now: Date): Promise<'taken' | 'tooFast' | 'tooMany'> {
    const { table, recipientColumn, short, long } = this.bounds;
    const since = (alias: string, { within }: Bound) => `${alias} > $3::timestamptz - interval '${within}'`;
    const taken = await tx.query(
      `INSERT INTO accounts.${table} AS allowances (app_id, ${recipientColumn}, sent_at, expires_at)
       VALUES ($1, $2, ARRAY[$3::timestamptz], $3::timestamptz + interval '${long.within}')
       ON CONFLICT ON CONSTRAINT ${table}_pkey DO UPDATE
         SET sent_at = ARRAY(SELECT sent FROM unnest(allowances.sent_at) AS sent WHERE ${since('sent', long)}) || $3::timestamptz,
             expires_at = EXCLUDED.expires_at
         WHERE (SELECT count(*) < ${long.most} AND count(*) FILTER (WHERE ${since('sent', short)}) < ${short.most}
                  FROM unnest(allowances.sent_at) AS sent WHERE ${since('sent', long)})
       RETURNING app_id`,
      [appId, recipient, now],
    );
    if (taken.length > 0) return 'taken';
    const [row] = await tx.query<{ isTooFast: boolean }>(
      `SELECT (SELECT count(*) FROM unnest(sent_at) AS sent WHERE ${since('sent', short)}) >= ${short.most} AS "isTooFast"
         FROM accounts.${table} WHERE app_id = $1 AND ${recipientColumn} = $2`,
      [appId, recipient, now],
    );
    return row?.isTooFast === false ? 'tooMany' : 'tooFast';
  }

  /** Takes away some of what has expired, where nobody else is at it. */
  async removeExpired(tx: Tx, now: Date): Promise<void> {
    const { table } = this.bounds;
    await tx.query(
      `DELETE FROM accounts.${table} WHERE ctid = ANY(ARRAY(
         SELECT ctid FROM accounts.${table} WHERE expires_at <= $1 ORDER BY expires_at LIMIT ${CLEANED_AT_ONCE} FOR UPDATE SKIP LOCKED))`,
      [now],
    );
  }
}

/** How many mails a mailbox may get: 5 in 10 minutes, 20 in 24 hours. */
@Injectable()
export class MailAllowancesRepository extends MessageAllowancesRepository {
  constructor() {
    super({
      table: 'mail_allowances',
      recipientColumn: 'mailbox',
      short: { most: 5, within: '10 minutes' },
      long: { most: 20, within: '24 hours' },
    });
  }
}

/** How many messages a phone number may get: one in 10 seconds, 10 in 24 hours. */
@Injectable()
export class SmsAllowancesRepository extends MessageAllowancesRepository {
  constructor() {
    super({
      table: 'sms_allowances',
      recipientColumn: 'mobile_phone_number',
      short: { most: 1, within: '10 seconds' },
      long: { most: 10, within: '24 hours' },
    });
  }
}
