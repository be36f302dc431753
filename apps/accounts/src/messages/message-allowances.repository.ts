import { Injectable } from '@nestjs/common';
import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';
import type { RateLimit } from '#admission';
import { cleanUp, TimeColumn, type Tx } from '#database';
import { ApplicationEntity } from '../applications/applications.repository.js';

abstract class AllowanceColumns {
  @PrimaryColumn('text')
  appId!: string;

  @Column('timestamptz', { array: true })
  sentAt!: Date[];

  @TimeColumn()
  expiresAt!: Date;
}

@Entity('mail_allowances')
@ForeignKey(() => ApplicationEntity, ['appId'], ['id'], { name: 'mail_allowances_app_id_fkey' })
@Index('mail_allowances_expires_at_idx', ['expiresAt'])
export class MailAllowanceEntity extends AllowanceColumns {
  @PrimaryColumn('text')
  mailbox!: string;
}

@Entity('sms_allowances')
@ForeignKey(() => ApplicationEntity, ['appId'], ['id'], { name: 'sms_allowances_app_id_fkey' })
@Index('sms_allowances_expires_at_idx', ['expiresAt'])
export class SmsAllowanceEntity extends AllowanceColumns {
  @PrimaryColumn('text')
  mobilePhoneNumber!: string;
}

@Entity('application_sms_allowances')
@ForeignKey(() => ApplicationEntity, ['appId'], ['id'], { name: 'application_sms_allowances_app_id_fkey' })
export class ApplicationSmsAllowanceEntity {
  @PrimaryColumn('text')
  appId!: string;

  @Column('integer')
  used!: number;

  @TimeColumn()
  endsAt!: Date;
}

const CLEANED_BY_EACH_MESSAGE = 20;

interface Limit {
  readonly max: number;
  readonly within: string;
}

const LIMITS = {
  mail: {
    table: 'mail_allowances',
    recipientColumn: 'mailbox',
    short: { max: 5, within: '10 minutes' },
    long: { max: 20, within: '24 hours' },
  },
  sms: {
    table: 'sms_allowances',
    recipientColumn: 'mobile_phone_number',
    short: { max: 1, within: '10 seconds' },
    long: { max: 10, within: '24 hours' },
  },
} as const;

type MessageKind = keyof typeof LIMITS;

export interface AllowanceRefusal {
  readonly reason: 'tooFast' | 'tooMany';
  readonly retryAfterSeconds: number;
}

interface Recipient {
  readonly kind: MessageKind;
  readonly appId: string;
  readonly recipient: string;
}

/** A time that is further ahead comes from a clock that was wrong: it counts for nothing, so that no window is longer than its length and this. */
const SKEW = "interval '1 minute'";

/** Limits the messages to a mailbox or a phone number, whatever their purpose, within a short and a long window. */
@Injectable()
export class MessageAllowancesRepository {
  async take(tx: Tx, { kind, appId, recipient }: Recipient, now: Date): Promise<AllowanceRefusal | undefined> {
    const { table, recipientColumn, short, long } = LIMITS[kind];
    const since = (alias: string, { within }: Limit) =>
      `${alias} > $3::timestamptz - interval '${within}' AND ${alias} <= $3::timestamptz + ${SKEW}`;
    const taken = await tx.query(
      `INSERT INTO accounts.${table} AS allowances (app_id, ${recipientColumn}, sent_at, expires_at)
       VALUES ($1, $2, ARRAY[$3::timestamptz], $3::timestamptz + interval '${long.within}')
       ON CONFLICT ON CONSTRAINT ${table}_pkey DO UPDATE
         SET sent_at = ARRAY(SELECT sent FROM unnest(allowances.sent_at) AS sent WHERE ${since('sent', long)}) || $3::timestamptz,
             expires_at = EXCLUDED.expires_at
         WHERE (SELECT count(*) < ${long.max} AND count(*) FILTER (WHERE ${since('sent', short)}) < ${short.max}
                  FROM unnest(allowances.sent_at) AS sent WHERE ${since('sent', long)})
       RETURNING app_id`,
      [appId, recipient, now],
    );
    if (taken.length > 0) return undefined;
    const endOf = (limit: Limit) => `(
      SELECT LEAST(sent, $3::timestamptz) + interval '${limit.within}' FROM unnest(sent_at) AS sent
       WHERE ${since('sent', limit)} ORDER BY sent DESC OFFSET ${limit.max - 1} LIMIT 1)`;
    const [row] = await tx.query<AllowanceRefusal>(
      `SELECT CASE WHEN ${endOf(short)} >= COALESCE(${endOf(long)}, '-infinity') THEN 'tooFast' ELSE 'tooMany' END AS reason, ceil(extract(epoch FROM
              GREATEST(${endOf(short)}, ${endOf(long)}) - $3::timestamptz))::int AS "retryAfterSeconds" FROM accounts.${table} WHERE app_id = $1 AND ${recipientColumn} = $2`,
      [appId, recipient, now],
    );
    return row ?? { reason: 'tooFast', retryAfterSeconds: 1 };
  }

  /** Counts a text message, without a list of its times, as the limit may be large. @returns the end of the window where no more is allowed */
  async takeOfApplication(tx: Tx, appId: string, limit: RateLimit, now: Date): Promise<Date | undefined> {
    const isOver = `(a.ends_at <= $2 OR a.ends_at > $2::timestamptz + make_interval(secs => $4) + ${SKEW})`;
    const taken = await tx.query(
      `INSERT INTO accounts.application_sms_allowances AS a (app_id, used, ends_at)
       VALUES ($1, 1, $2::timestamptz + make_interval(secs => $4))
       ON CONFLICT ON CONSTRAINT application_sms_allowances_pkey DO UPDATE
         SET used = CASE WHEN ${isOver} THEN 1 ELSE a.used + 1 END,
             ends_at = CASE WHEN ${isOver} THEN EXCLUDED.ends_at ELSE LEAST(a.ends_at, EXCLUDED.ends_at) END
         WHERE ${isOver} OR a.used < $3
       RETURNING app_id`,
      [appId, now, limit.count, limit.windowSeconds],
    );
    if (taken.length > 0) return undefined;
    const [row] = await tx.query<{ endsAt: Date }>(
      'SELECT ends_at AS "endsAt" FROM accounts.application_sms_allowances WHERE app_id = $1',
      [appId],
    );
    return row?.endsAt ?? now;
  }

  async removeExpired(tx: Tx, kind: MessageKind, now: Date): Promise<void> {
    const expired = { where: 'expires_at <= $1', values: [now], orderBy: 'expires_at', limit: CLEANED_BY_EACH_MESSAGE };
    await cleanUp(tx, { table: `accounts.${LIMITS[kind].table}`, ...expired });
  }
}
