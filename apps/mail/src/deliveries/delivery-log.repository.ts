import { Injectable } from '@nestjs/common';
import type { deliveriesRpc, RpcData } from '#contracts';
import { MailDatabase } from '../mail.database.js';
import type { ClaimedRow, LoggedRow } from './delivery.rules.js';

const COLUMNS = `id, app_id AS "appId", channel, kind, recipient, user_id AS "userId", status, attempts,
  last_error AS "lastError", created_at AS "createdAt", expires_at AS "expiresAt", next_attempt_at AS "nextAttemptAt",
  settled_at AS "settledAt"`;
const REVIVED = `status = 'queued', attempts = 0, lease = NULL, next_attempt_at = now(), settled_at = NULL,
  give_up_at = LEAST(expires_at, now() + interval '48 hours')`;
const REVIVABLE = `status = 'dead' AND expires_at > now() AND sealed_content IS NOT NULL`;
const RETRIED_AT_ONCE = 1_000;

/** Lists deliveries for operators, and revives dead ones. */
@Injectable()
export class DeliveryLogRepository {
  constructor(private readonly database: MailDatabase) {}

  list({ appId, status, recipient, limit }: RpcData<typeof deliveriesRpc.list>): Promise<LoggedRow[]> {
    return this.database.query<LoggedRow>(
      `SELECT ${COLUMNS} FROM mail.deliveries
        WHERE ($1::text IS NULL OR app_id = $1) AND ($2::text IS NULL OR status = $2)
          AND ($3::text IS NULL OR recipient = $3)
        ORDER BY created_at DESC, id LIMIT $4`,
      [appId, status, recipient, limit],
    );
  }

  async find(id: string): Promise<LoggedRow | undefined> {
    const [row] = await this.database.query<LoggedRow>(`SELECT ${COLUMNS} FROM mail.deliveries WHERE id = $1`, [id]);
    return row;
  }

  /** @returns undefined if the delivery is not dead or has expired */
  async revive(id: string): Promise<LoggedRow | undefined> {
    const [row] = await this.database.query<LoggedRow>(
      `UPDATE mail.deliveries SET ${REVIVED} WHERE id = $1 AND ${REVIVABLE} RETURNING ${COLUMNS}`,
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
        WHERE status IN ('queued', 'failed') AND sealed_content IS NOT NULL LIMIT 1`,
    );
    return row;
  }

  /** @returns for each channel and status with waiting deliveries: their number, and the age of the oldest in seconds */
  waiting(): Promise<{ channel: string; status: string; count: number; seconds: number }[]> {
    return this.database.query(
      `SELECT channel, status, count(*)::int AS count, extract(epoch FROM now() - min(created_at))::float AS seconds
         FROM mail.deliveries WHERE status IN ('queued', 'failed') GROUP BY channel, status`,
    );
  }
}
