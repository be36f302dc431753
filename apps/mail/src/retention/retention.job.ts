import { Injectable } from '@nestjs/common';
import { PeriodicJob } from '#bootstrap';
import { Metrics } from '#observability';
import { MailDatabase } from '../mail.database.js';

/** Rows per statement: few enough that requests do not wait long for their locks. */
const BATCH_SIZE = 500;

/** Operators can look up the result of a message for this time. */
const SETTLED_DELIVERIES = `
  DELETE FROM mail.deliveries WHERE id IN (
    SELECT id FROM mail.deliveries WHERE settled_at < now() - interval '30 days'
     ORDER BY settled_at LIMIT ${BATCH_SIZE} FOR UPDATE SKIP LOCKED) RETURNING 1`;

/** A dead delivery that has expired cannot be retried. */
const USELESS_CONTENTS = `
  UPDATE mail.deliveries SET sealed_content = NULL WHERE id IN (
    SELECT id FROM mail.deliveries WHERE status = 'dead' AND expires_at <= now() AND sealed_content IS NOT NULL
     ORDER BY created_at LIMIT ${BATCH_SIZE} FOR UPDATE SKIP LOCKED) RETURNING 1`;

/** Longer than the maximum delay of an event: a mail request that is older than the change has arrived by then. */
const OLD_RECIPIENTS = `
  DELETE FROM mail.recipients WHERE (app_id, user_id) IN (
    SELECT app_id, user_id FROM mail.recipients WHERE noted_at < now() - interval '8 days'
     ORDER BY noted_at LIMIT ${BATCH_SIZE} FOR UPDATE SKIP LOCKED) RETURNING 1`;

/** A window lasts one day at most. */
const OLD_ALLOWANCES = `
  DELETE FROM mail.allowances WHERE (app_id, window_start) IN (
    SELECT app_id, window_start FROM mail.allowances WHERE window_start < now() - interval '2 days'
     LIMIT ${BATCH_SIZE} FOR UPDATE SKIP LOCKED) RETURNING 1`;

const INTERVAL_MS = 60_000;

/** Deletes expired rows of the mail service. Replicas skip rows that another replica is deleting. */
@Injectable()
export class RetentionJob extends PeriodicJob {
  constructor(
    private readonly database: MailDatabase,
    metrics: Metrics,
  ) {
    super({ name: 'mail-cleanup', intervalMs: INTERVAL_MS, metrics });
  }

  async processBatch(): Promise<boolean> {
    let isMore = false;
    for (const statement of [SETTLED_DELIVERIES, USELESS_CONTENTS, OLD_RECIPIENTS, OLD_ALLOWANCES]) {
      const rows = await this.database.query(statement);
      isMore ||= rows.length === BATCH_SIZE;
    }
    return isMore;
  }
}
