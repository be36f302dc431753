import { Injectable } from '@nestjs/common';
import type { Tx } from '#database';

/** Between two messages to a number. */
const PAUSE = "interval '10 seconds'";
const MOST_MESSAGES = 10;
/** In which a number gets so many messages at most. */
const WINDOW = "interval '24 hours'";
/** Old rows that one new message takes away. */
const CLEANED_AT_ONCE = 20;

/** A number of an application. */
interface Recipient {
  readonly appId: string;
  readonly mobilePhoneNumber: string;
}

/** How many messages a number may get: one in 10 seconds, 10 in 24 hours, whatever they are for. */
@Injectable()
export class SmsAllowancesRepository {
  /** Takes note of a message, where the number may get one. Of many at once one is taken. */
  async take(tx: Tx, { appId, mobilePhoneNumber }: Recipient, now: Date): Promise<'taken' | 'tooFast' | 'tooMany'> {
    const taken = await tx.query(
      `INSERT INTO accounts.sms_allowances AS allowances (app_id, mobile_phone_number, sent_at, expires_at)
       VALUES ($1, $2, ARRAY[$3::timestamptz], $3::timestamptz + ${WINDOW})
       ON CONFLICT ON CONSTRAINT sms_allowances_pkey DO UPDATE
         SET sent_at = ARRAY(SELECT sent FROM unnest(allowances.sent_at) AS sent WHERE sent > $3 - ${WINDOW}) || $3::timestamptz,
             expires_at = EXCLUDED.expires_at
         WHERE (SELECT count(*) < ${MOST_MESSAGES} AND count(*) FILTER (WHERE sent > $3 - ${PAUSE}) = 0
                  FROM unnest(allowances.sent_at) AS sent WHERE sent > $3 - ${WINDOW})
       RETURNING app_id`,
      [appId, mobilePhoneNumber, now],
    );
    if (taken.length > 0) return 'taken';
    const [row] = await tx.query<{ isTooFast: boolean }>(
      `SELECT EXISTS (SELECT 1 FROM unnest(sent_at) AS sent WHERE sent > $3::timestamptz - ${PAUSE}) AS "isTooFast"
         FROM accounts.sms_allowances WHERE app_id = $1 AND mobile_phone_number = $2`,
      [appId, mobilePhoneNumber, now],
    );
    return row?.isTooFast === false ? 'tooMany' : 'tooFast';
  }

  /** Takes away some of what has expired, where nobody else is at it. */
  async removeExpired(tx: Tx, now: Date): Promise<void> {
    await tx.query(
      `DELETE FROM accounts.sms_allowances WHERE ctid = ANY(ARRAY(
         SELECT ctid FROM accounts.sms_allowances WHERE expires_at <= $1 ORDER BY expires_at LIMIT ${CLEANED_AT_ONCE} FOR UPDATE SKIP LOCKED))`,
      [now],
    );
  }
}
